// What a repository that somebody hands over must not get by being looked at: programs run, other
// folders shown.
import { doesNotMatch, equal, match, ok } from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { dirname, join } from "node:path";
import { describe } from "node:test";
import type { Result } from "../../kernel/contract.ts";
import type { Core } from "../../kernel/instance.ts";
import { tryTo } from "../../kernel/text/words.ts";
import { needs } from "../support/needs.ts";
import {
  configure,
  fill,
  INIT,
  objectOf,
  PERSON,
  put,
  settingLines,
  shell,
} from "../support/repository.ts";
import { place } from "../support/run.ts";
import { some } from "../support/runs.ts";
import { kernel } from "../support/script.ts";
import { waitFor } from "../support/wait.ts";

const test = needs("git");

Object.assign(process.env, PERSON); // no configuration of this machine's own

const IS_ADA = "-c user.name=Ada -c user.email=a@b";
function git(cwd: string, ...args: string[]): string {
  const who = ["-c", "user.name=Ada", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"];
  return execFileSync("git", [...who, ...args], {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
}

function repository(
  folder: string,
  files: Record<string, string> = { "a.txt": "one\n", "b.txt": "same\n" },
  last = "",
): string {
  fill(folder, JSON.stringify([files, last]), (model) => {
    put(model, files);
    shell(model, `${INIT}; git add --all .; git ${IS_ADA} commit -qm Begin`);
    if (last) shell(model, `git ${IS_ADA} commit -q --allow-empty -m "$1"`, last);
  });
  return folder;
}

/** So that git has to look at the content again. */
const touch = (file: string): void => fs.utimesSync(file, 1, Date.now() / 1_000);

/** Calls as a model makes them; what the person is asked is kept, and answered with `answer`. */
async function session(given: Core | Promise<Core>, first = "n") {
  const core = await given;
  const asked: string[] = [];
  let answer = first;
  core.ask = async (question) => {
    if (/ wants to /.test(question)) asked.push(question);
    return answer;
  };
  kernel.openChat(core, "x/y");
  const ctx = core.ctx();
  const say = (next: string) => void (answer = next);
  return {
    asked,
    say,
    call: (name: string, args: object = {}): Promise<Result> => ctx.call(name, args),
  };
}
const openZz = (root: string, home: string): Promise<Core> =>
  kernel.createZz({ root, home, save: false, settings: { shell: { sandbox: "off" } } });

/** One place and one zz for all rows: the project of a row, and what lies beside it, takes the
 * place of the one before. */
const { cwd, home } = place();
const shared = openZz(cwd, home);
function emptied(): string {
  for (const name of fs.readdirSync(dirname(cwd)))
    if (name !== "home") fs.rmSync(join(dirname(cwd), name), { recursive: true, force: true });
  fs.mkdirSync(cwd);
  return cwd;
}

type Look = [tool: string, args: object];
const STATUS: Look = ["git_status", {}];
const DIFF: Look = ["git_diff", {}];
const SINCE: Look = ["git_diff", { ref: "HEAD" }];
const LOG: Look = ["git_log", {}];
const LIST: Look = ["list_dir", {}];
const LISTS: Look[] = [["grep", { query: "one" }], LIST];
/** The look that is most like what git itself is asked. */
const likest = (command: string): Look => {
  if (/ (log|show)/.test(command)) return LOG;
  if (/ diff/.test(command)) return DIFF;
  return STATUS;
};
/** One of them for each row, by turns. */
const turn = <T>(all: T[], row: number): T => all[row % all.length]!;

// ── Programs ──

interface Plant {
  cwd: string;
  program: string; // leaves a mark when it runs, in the project, where a sandbox would let it
  set(text: string): void; // adds to the repository's configuration, as it stands
}
type Lay = (plant: Plant) => void;

const set =
  (text: string): Lay =>
  ({ set, program }) =>
    set(text.replaceAll("PROGRAM", program));
const also =
  (...all: Lay[]): Lay =>
  (plant) => {
    for (const lay of all) lay(plant);
  };
const attributes =
  (text: string): Lay =>
  ({ cwd }) =>
    put(cwd, { ".gitattributes": `${text}\n` });
const hook =
  (folder: string): Lay =>
  ({ cwd, program }) => {
    fs.mkdirSync(join(cwd, folder), { recursive: true });
    for (const name of ["post-index-change", "reference-transaction", "pre-commit"]) {
      fs.rmSync(join(cwd, folder, name), { force: true });
      fs.symlinkSync(program, join(cwd, folder, name));
    }
  };
const evil: Lay = ({ cwd, program }) => put(cwd, { evil: `[core]\n\tfsmonitor = ${program}\n` });
const WATCHER = "[core]\n\tfsmonitor = PROGRAM\n";

/** A clone without the content of a file, that would have it fetched. */
const PARTIAL = `[core]
	repositoryformatversion = 1
[extensions]
	partialClone = o
[protocol]
	allow = always
[remote "o"]
	promisor = true
	url = "ext::PROGRAM %S"
`;
const partial = also(set(PARTIAL), ({ cwd }) =>
  fs.rmSync(join(cwd, ".git/objects", objectOf("same\n"))),
);
/** A repository in this one, in its index, with changes; `lay` is for the inner one. */
const inner =
  (lay: Lay): Lay =>
  ({ cwd, program }) => {
    fs.rmSync(cwd, { recursive: true });
    fill(cwd, "a repository in it", (model) => {
      const source = repository(join(model, "../source"), {
        "in.txt": "one\n",
        "same.txt": "same\n",
      });
      repository(model);
      const add = 'submodule --quiet add "$1" sub; git add sub';
      shell(
        model,
        `git -c protocol.file.allow=always ${add}; git ${IS_ADA} commit -qm Sub`,
        source,
      );
    });
    put(cwd, { "sub/in.txt": "two\n" });
    touch(join(cwd, "sub/in.txt"));
    // or git writes its index, and runs the hook, only where the clock is near
    touch(join(cwd, "sub/same.txt"));
    const folder = join(cwd, ".git/modules/sub");
    lay({
      cwd: join(cwd, "sub"),
      program,
      set: (text) => fs.appendFileSync(join(folder, "config"), text),
    });
  };
/** Makes the last commit one that says it is signed, so that git would have the signature
 * checked. */
const signed: Lay = ({ cwd }) => {
  fs.rmSync(cwd, { recursive: true });
  fill(cwd, "a signed commit", (model) => {
    repository(model);
    const body = git(model, "cat-file", "commit", "HEAD").replace(
      "\n\n",
      "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n",
    );
    const input = { cwd: model, input: body };
    const hash = execFileSync("git", ["hash-object", "-t", "commit", "-w", "--stdin"], input)
      .toString()
      .trim();
    git(model, "reset", "-q", hash);
  });
};
const bare: Lay = ({ cwd, program }) => {
  for (const name of ["HEAD", "objects", "refs", "config", "index"])
    fs.renameSync(join(cwd, ".git", name), join(cwd, name));
  fs.rmSync(join(cwd, ".git"), { recursive: true });
  fs.mkdirSync(join(cwd, ".git"));
  fs.appendFileSync(
    join(cwd, "config"),
    `[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = ${program}\n`,
  );
};
const FOLDER = also(hook("hooks"), set("[core]\nhooksPath=hooks\n"));
const EXTERNAL = set("[diff]\n\texternal = PROGRAM\n");
const SHOWN = set("[diff]\n\tsubmodule = diff\n");
const CONVERTED = also(attributes("*.txt diff=x"), set('[diff "x"]\n\ttextconv = PROGRAM\n'));
const FILTERED = also(attributes("*.txt filter=x"), set('[filter "x"]\n\tclean = PROGRAM\n'));
const CHECKED = set("[log]\n\tshowSignature = true\n[gpg]\n\tprogram = PROGRAM\n");
/** What is planted, the command by which git would run it, what zz says of it. `tools`: zz's own
 * switch it off unasked. */
// biome-ignore format: one case a row.
const ROWS: [what: string, lay: Lay, byGit: string, told: RegExp, tools?: "off"][] = [
  ["a section behind a section", also(evil, set("[core][include]path=../evil\n")), "git status", /include\.path/],
  ["a bare repository beside an empty .git", bare, "git status", /cannot use bare repository/, "off"],
  ["a submodule's file watcher", inner(set(WATCHER)), "git status", /core\.fsmonitor of its submodule sub/, "off"],
  ["a partial clone", partial, "git show HEAD", /extensions\.partialclone/],
  ["a submodule's external diff", also(inner(EXTERNAL), SHOWN), "git diff", /diff\.submodule/, "off"],
  ["a text conversion", CONVERTED, "git diff", /diff\.x\.textconv/],
  ["a hook", hook(".git/hooks"), "git status", /post-index-change/, "off"],
  ["a folder of hooks", FOLDER, "git status", /post-index-change/, "off"],
  ["an external diff", EXTERNAL, "git diff", /diff\.external/],
  ["a filter", FILTERED, "git diff", /filter\.x\.clean/, "off"],
  ["a signature check", also(signed, CHECKED), "git log", /gpg\.program|log\.showsignature/],
  ["an alias", set("[alias]\n\tst = !PROGRAM\n"), "git st", /alias/],
];

const named =
  (setting: string): Lay =>
  ({ program, set }) => {
    const [, key = "", value = ""] = /^([^=]*)=(.*)$/.exec(setting)!;
    set(settingLines(key, value.replace("PROGRAM", program)));
  };

/** Only when talked to, or by a command that asks anyway: their names alone make zz ask. */
const NAMED =
  "core.excludesFile=PROGRAM core.unheardOf=1 mailmap.file=PROGRAM diff.external=PROGRAM".split(
    " ",
  );
/** What a command that looks has no use for, as husky, git-lfs and editors leave it in a
 * repository. */
const UNUSED = `
git status § core.hooksPath=.husky/_ alias.st=!PROGRAM alias.status=!PROGRAM credential.helper=!PROGRAM core.editor=PROGRAM
git status --short § core.pager=PROGRAM pager.status=PROGRAM core.sshCommand=PROGRAM sequence.editor=PROGRAM
git diff § core.fsmonitor=PROGRAM merge.x.driver=PROGRAM diff.tool=x core.gitProxy=PROGRAM remote.o.vcs=PROGRAM
git log -1 -p § filter.x.clean=PROGRAM filter.x.smudge=PROGRAM lfs.extension.x.clean=PROGRAM gc.recentObjectsHook=PROGRAM
git branch § diff.external=PROGRAM gpg.program=PROGRAM submodule.sub.update=!PROGRAM interactive.diffFilter=PROGRAM
git show HEAD:a.txt § filter.x.process=PROGRAM filter.x.required=true`;

let plants = 0;
/** Lays it into a repository with changes; tells whether the program ran, and not one that an
 * earlier row left behind. */
function planted(lay: Lay): () => boolean {
  repository(emptied());
  const [program, mark] = [join(cwd, `../planted-${++plants}`), join(cwd, `ran-${plants}`)];
  fs.writeFileSync(
    program,
    `#!/bin/sh\ntouch '${mark}'\n[ -p /dev/stdin ] && exec cat >/dev/null\nexit 1\n`,
  );
  fs.chmodSync(program, 0o755);
  lay({ cwd, program, set: (text) => fs.appendFileSync(join(cwd, ".git/config"), text) });
  put(cwd, { "a.txt": "two\n" });
  touch(join(cwd, "b.txt"));
  return () => fs.existsSync(mark);
}

/** Until it ends, or has run what was planted: some wait for that without end. All that it started
 * ends with it. */
async function byHand(command: string, ran: () => boolean): Promise<void> {
  const child = spawn("sh", ["-c", `exec ${command}`], { cwd, stdio: "pipe", detached: true });
  child.stdin.end();
  for (const output of [child.stdout, child.stderr]) output.resume();
  const closed = once(child, "close"); // when nothing that it started holds its output any more
  await waitFor(`'${command}' to end`, () => child.exitCode !== null || ran());
  tryTo(() => process.kill(-child.pid!, "SIGKILL"));
  await closed;
}

/** Zz's own tools, of which each row gets the likest and one more. The question of git_commit shows
 * what it would do. */
const COMMIT: Look = ["git_commit", { message: "x", files: ["a.txt"] }];
const OTHERS = [COMMIT, SINCE, STATUS, DIFF, LOG, ...LISTS];

describe("a repository's own programs do not run unasked", () => {
  for (const [row, [what, lay, byGit, told, tools]] of some([...ROWS.entries()], 6))
    test(what, async () => {
      const ran = planted(lay);
      const { call, asked, say } = await session(shared);
      // git diff writes to the index, and runs the hook of that
      const first = /hook/.test(what) ? DIFF : likest(byGit);
      const others = OTHERS.filter((one) => one !== first);
      const other = turn(others, row);
      const look = async (all: Look[], when: string) => {
        for (const [tool, args] of all) {
          const { text } = await call(tool, args);
          ok(!ran(), `${tool} ${JSON.stringify(args)} ran it ${when}: ${text}`);
        }
      };
      await look(tools === "off" ? [first, other] : [first], "unasked");
      const questions = asked.splice(0).join("\n");
      if (tools !== "off") {
        if (!/alias/.test(byGit)) match(questions, told);
        say("y"); // and after a yes to zz's own tools as little
        await look([first, other === COMMIT ? SINCE : other], "after a yes");
        say("n");
      } else if (other === COMMIT) match(questions, /^[^\n]*git commit"[\s\S]*On trunk, 1 file:/);
      else equal(questions, "", "it is switched off");
      asked.length = 0;
      const command = /'(git [^']*)'/.exec(byGit)?.[1] ?? byGit.replace(" -C sub", "");
      const { text } = await call("run_command", { command });
      ok(!ran(), `${command} ran it: ${text}`);
      match(asked.join("\n"), told);
      for (const name of ["b.txt", "sub/in.txt"].filter((one) => fs.existsSync(join(cwd, one))))
        touch(join(cwd, name));
      await byHand(byGit, ran);
      ok(ran(), `'${byGit}' was to run it, or this test proves nothing`);
    });
  test("settings that are not known to be harmless are asked about, by their names", async () => {
    for (const setting of some(NAMED, 5)) {
      const ran = planted(named(setting));
      const key = setting.split("=")[0]!;
      const { call, asked } = await session(shared);
      await call("git_status");
      await call("run_command", { command: "git status" });
      equal(asked.length, 2, setting);
      for (const one of asked)
        ok(one.toLowerCase().includes(key.toLowerCase()), `${setting}: ${one}`);
      ok(!ran(), setting);
    }
  });
  test("settings that a command has no use for are not asked about, and what they name does not run", async () => {
    for (const line of UNUSED.trim().split("\n")) {
      const [command = "", settings = ""] = line.split(" § ");
      const ran = planted(
        also(attributes("*.txt filter=x diff=x"), ...settings.split(" ").map(named)),
      );
      const { call, asked } = await session(shared);
      const { text, failed } = await call("run_command", { command });
      equal(asked.join("\n"), "", command);
      ok(!failed && !ran(), `${command}: ${text}`);
    }
  });
});

// ── Contents of elsewhere ──

const SECRET = "s3cret of elsewhere";
/** Another repository of the person's, beside the project, whose message and content nobody allowed
 * to be read. */
function pair(): { other: string; cwd: string } {
  const other = repository(join(emptied(), "../private"), { "p.txt": `${SECRET}\n` }, SECRET);
  return { other, cwd };
}
type Pointed = (where: ReturnType<typeof pair>) => void;
const file =
  (text: string): Pointed =>
  ({ cwd }) =>
    put(cwd, { ".git": text });
const own = (then: Pointed): Pointed => {
  return (all) => {
    repository(all.cwd, { "mine.txt": "mine\n" });
    then(all);
  };
};
const head = ({ other }: { other: string }): string =>
  fs.readFileSync(join(other, ".git/refs/heads/trunk"), "utf8").trim();
const borrow = (cwd: string, hash: string): void =>
  put(cwd, { ".git/refs/heads/trunk": `${hash}\n` });

const AWAY: Record<string, Pointed> = {
  "a file .git": file("gitdir: ../private/.git\n"),
  "a link .git": ({ cwd, other }) => fs.symlinkSync(join(other, ".git"), join(cwd, ".git")),
  "another's linked working tree": ({ cwd, other }) => {
    git(other, "worktree", "add", "-q", "../linked");
    put(cwd, { ".git": `gitdir: ${other}/.git/worktrees/linked\n` });
  },
  alternates: own((all) => {
    put(all.cwd, { ".git/objects/info/alternates": `${all.other}/.git/objects\n` });
    borrow(all.cwd, head(all));
  }),
  "a folder in common": own((all) => {
    put(all.cwd, { ".git/commondir": `${all.other}/.git\n` });
    put(all.cwd, { ".git/HEAD": "ref: refs/heads/trunk\n" });
  }),
  "objects that are a link": own((all) => {
    const hash = head(all);
    fs.rmSync(join(all.cwd, ".git/objects"), { recursive: true });
    fs.symlinkSync(join(all.other, ".git/objects"), join(all.cwd, ".git/objects"));
    borrow(all.cwd, hash);
  }),
  "folders of objects that are links": own((all) => {
    for (const name of Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, "0"))) {
      fs.rmSync(join(all.cwd, ".git/objects", name), { recursive: true, force: true });
      fs.symlinkSync(join(all.other, ".git/objects", name), join(all.cwd, ".git/objects", name));
    }
    borrow(all.cwd, head(all));
  }),
  "a working tree elsewhere": own(
    ({ cwd, other }) => void git(cwd, "config", "core.worktree", other),
  ),
};
const SHOWS = [
  "git log -p",
  "git show HEAD",
  "git diff HEAD",
  "git reflog",
  "git log --all --format=%B",
  "git cat-file -p HEAD",
];

describe("a .git that points elsewhere shows nothing of it unasked", () => {
  for (const [row, [what, lay]] of some([...Object.entries(AWAY).entries()], 3))
    test(what, async () => {
      lay(pair());
      const { call, asked } = await session(shared);
      for (const [tool, args] of [LOG, turn([STATUS, DIFF, SINCE], row), turn(LISTS, row)]) {
        const { text } = await call(tool, args);
        doesNotMatch(text, /s3cret|p\.txt/, tool);
      }
      equal(asked.length, 2, "it was asked for, but for the list, which does without git");
      for (const one of asked) match(one, /private|core\.worktree|linked/, "it says where");
      const [first = "", ...others] = SHOWS;
      for (const command of [first, turn(others, row)]) {
        asked.length = 0;
        const { text } = await call("run_command", { command });
        doesNotMatch(text, /s3cret/, command);
        equal(asked.length, 1, command);
      }
    });

  const NEAR: Record<string, (all: ReturnType<typeof pair>) => string | undefined> = {
    "what git itself and usual tools write": ({ cwd }) => {
      repository(cwd);
      configure(cwd, USUAL);
    },
    "a linked working tree": ({ cwd, other }) => {
      fs.rmSync(cwd, { recursive: true });
      git(other, "worktree", "add", "-q", cwd);
    },
    "a submodule": ({ cwd, other }) => {
      repository(cwd);
      git(cwd, "submodule", "--quiet", "add", other, "sub");
      return join(cwd, "sub");
    },
  };
  for (const [row, [what, lay]] of some([...Object.entries(NEAR).entries()], 3))
    test(`${what} goes unasked`, async () => {
      const root = lay(pair()) ?? cwd;
      const { call, asked } = await session(root === cwd ? shared : openZz(root, home));
      const command = turn(["git status", "git log -3", "git diff"], row);
      const looks = [
        STATUS,
        DIFF,
        LOG,
        turn([SINCE, ...LISTS], row),
        ["run_command", { command }],
      ] as Look[];
      for (const [tool, args] of looks) {
        const { text, failed } = await call(tool, args);
        ok(!failed, `${tool} ${JSON.stringify(args)}: ${text}\n${asked.join("\n")}`);
      }
      equal(asked.join("\n"), "");
    });

  test("another's, after a yes to its folder", async () => {
    file("gitdir: ../private/.git\n")(pair());
    const { call, asked } = await session(shared, "y");
    match((await call("git_log")).text, new RegExp(SECRET));
    match(asked.join(), /wants to .*read \S*\/private\/\.git/);
  });
});

const USUAL = Object.entries({
  "core.autocrlf": "input",
  "remote.origin.url": "git@github.com:a/b.git",
  "branch.main.remote": "origin",
  "user.email": "a@b",
  "lfs.https://github.com/a/b.git/info/lfs.access": "basic",
  "fetch.prune": "true",
  "gc.auto": "0",
  "gitflow.prefix.feature": "feature/",
  "http.https://github.com/.extraHeader": "x",
  "url.git@github.com:.insteadOf": "https://github.com/",
  "submodule.x.url": "https://x/y",
});
