// Lines that try to have an effect without approval, by bash's grammar, options, wrappers and git.
// They are judged in test/plugins/shell/judge.test.ts, and really run on a copy of a project in
// test/all/security/smuggling.test.ts.
// biome-ignore-all format: rows of tables, in few lines
export type Row = [line: string, runs: string, verdict: "allow" | "ask" | "deny" | "gate", why?: RegExp];
const LONG_OPTION = "a".repeat(10_001);
const nested = (times: number): string => "(".repeat(times).replaceAll("(", "( ") + "ls" + " )".repeat(times);

export const DANGEROUS: Record<string, Row[]> = {
  "the deny list": [
    ["rm -rf x", "rm", "deny", /rm -rf is on the deny list/],
    ["$'\\x72m' -rf x", "rm", "deny"],
    ["$'\\162\\u006d' -rf x", "rm", "deny"],
    ["r{m,} -rf x", "rm", "deny"],
    ["if true; then :; elif rm -rf x; then ls; fi", "true : rm ls", "deny"],
    ["cat <<< $(rm -rf x)", "cat rm", "deny"],
    ["chmod 777 x", "chmod", "deny", /chmod is/],
    ["sudo --weird ls", "sudo", "deny"],
    ["doas ls", "ls", "deny", /doas is/],
    ["su -c 'ls; pwd' bob", "ls pwd", "deny"],
    ["su", "su", "deny"],
    ["git-reset --hard", "git-reset", "deny", /git reset --hard is/],
    ["/usr/lib/git-core/git-clean -fd", "/usr/lib/git-core/git-clean", "deny"],
    ["git push -f", "git", "deny"],
    ["git push origin +main", "git", "deny"],
    ["git push --mirror", "git", "deny"],
    ["git -C x push --force", "git", "deny"],
    ["git reset HEAD~1 --har", "git", "deny"],
    ["npm --prefix x publish", "npm", "deny"],
    ["yarn workspace x publish", "yarn", "deny"],
    ["env --split-string='rm -rf x'", "rm", "deny"],
    ["watch rm -rf x", "rm", "deny"],
  ],
  "what cannot be known before it runs": [
    [`echo \${X:-y}`, "echo", "ask"],
    ["$(echo rm) -r x", "$(echo rm) echo", "ask", /substitution/],
    ["echo $HOME{a,b}", "echo", "ask", /braces/],
    ['$"ls"', "ls", "ask", /translated/],
    ["cat ~root/x", "cat", "ask", /~/],
    ["cat src/../''.e*", "cat", "ask", /hidden/],
    ["/bin/ech? a.ts", "echo", "ask", /glob/],
    ["cat <<E | sh\nrm x\nE", "cat sh", "ask"],
    ["[[ 'a[$(id)]' -eq 1 ]]", "[[ 'a[$(id)]' -eq 1 ]]", "ask"],
    ["xargs cat", "cat", "ask", /not known/],
    ["ls | xargs rm", "ls rm", "ask", /not known/],
    ["find . -exec cat {} +", "find cat", "ask", /not known/],
    ["eval $X", "eval", "ask"],
    ["echo - 2>f", "echo", "ask"],
    ["git reset --ha\\\nrd", "git", "ask"],
    ["ls && for i in a; do uniq; done &>f", "ls uniq", "ask", /writes/],
    ["echo ${x[y=1]}", "echo", "ask"],
    ["for i in ${x[y]}; do ls; done", "ls", "ask"],
    ["bash -c ls ${x[y]}", "ls", "ask"],
  ],
  "what is odd": [
    ["ls\u00a0-la", "ls\u00a0-la", "ask", /U\+00a0/],
    ["ls \u202ex", "ls", "ask", /U\+202e/],
    [`echo ${LONG_OPTION}`, "", "ask", /longer than/],
    [nested(60), "", "ask", /deep/],
    ["cat $'a\\xe9.ts'", "cat", "ask", /an escape that zz does not read/],
    ["bash -c $'ls\\rrm x'", "ls", "ask", /U\+000d/],
    ["echo {PATH}</dev/null; ls", "echo ls", "ask"],
  ],
  "what is written": [
    ["ls > f", "ls", "ask", /writes 'f'/],
    ["(ls; pwd) > f", "ls pwd", "ask", /writes/],
    ["for i in a; do ls; done > f", "ls", "ask", /writes/],
    ["ls | cat > f", "ls cat", "ask", /writes/],
    ["[ a ] > f", "[", "ask", /writes/],
    ["sort a.ts -o a.ts", "sort", "ask"],
    ["uniq a.ts b.ts", "uniq", "ask"],
  ],
  "options that write, run or wait": [
    ["find . -delete", "find", "ask", /-delete/],
    ["tail -F a.ts", "tail", "ask"],
    ["printf -v PATH x; ls", "printf ls", "ask", /set a variable/],
    ["test -v 'a[$(rm x)]'", "test", "ask"],
    ["rg --pre ./x foo", "rg", "ask"],
    ["rg -g .env foo", "rg", "ask", /hidden/],
    ["rg --glob='{a,.env}' foo", "rg", "ask", /hidden/],
    ["rg -t sh foo", "rg", "ask", /hidden/],
    ["rg -t json foo", "rg", "ask", /secret/],
    ["sed -n 1,5p -i a.ts", "sed", "ask"],
    ["find . -name x -exec ls", "find ls", "ask", /no end/],
    ["find . -ok ls \\;", "find ls", "ask"],
    ["tar cf x --checkpoint=1 --checkpoint-action=exec=sh a.ts", "tar", "ask", /this way/],
    ["dash -c 'ls &>/dev/null'", "ls", "ask"],
    ["parallel cat ::: .env", "cat", "ask"],
  ],
  "git that may do more": [
    ["git diff --output=x", "git", "ask"],
    ["git diff src app", "git", "ask", /folder/],
    ["git log --format=%G?", "git", "ask", /signatures/],
    ["git branch x", "git", "ask"],
    ["git branch -D x", "git", "ask"],
    ["git log -p -- ':(glob).e*'", "git", "ask", /git itself/],
  ],
  "what is set": [
    ["PAGER=x git log", "git", "ask"],
    ["env PATH=. ls", "ls", "ask", /sets PATH/],
    ["env -i ls", "ls", "ask"],
    ["CI=$(x) ls", "ls x", "ask", /substitution/],
    ["export PATH=.; ls", "export ls", "ask", /shell itself/],
    ["trap 'rm x' EXIT", "trap rm", "ask"],
    ["cd", "cd", "ask"],
    ["cd outside && cat passwd", "cd cat", "ask", /link/],
    ["ls() { cat a.ts; }; ls", "cat ls", "ask", /function/],
  ],
  "what is set, and runs something or changes what runs": [
    ["LC_ALL=zh_CN.GBK bash -c ''", "", "ask"],
    ["BASH_ENV='$(id >pwned)' bash -c x=1", "", "ask"],
    ["LD_PRELOAD=./e.so bash -c x=1", "", "ask"],
    ["RANDOM='a[$(id>pwned)]'", "", "ask"],
    ["eval RANDOM=1", "", "ask"],
    ...["SECONDS", "LD_PRELOAD", "_"].map(
      (name): Row => [`for ${name} in a; do :; done`, ":", "ask", new RegExp(`sets ${name}`)],
    ),
  ],
  "wrappers that do more than run": [
    ["script -c x=1 f", "", "ask", /writes what it sees/],
    ["flock f -c x=1", "", "ask", /makes its file/],
    ["env FOO=1 bash -c x=1", "", "ask", /sets FOO/],
  ],
  "what may be what never runs": [
    ["npx --yes npm@latest publish", "npx", "deny"],
    ["npx bash -c 'rm -rf d'", "npx", "deny", /rm -rf is/],
    ["pnpm dlx npm publish", "pnpm", "deny"],
    ["pnpm --silent exec rm -rf d", "pnpm", "deny"],
    ["bundle exec rm -rf d", "bundle", "deny"],
  ],
  "what is read is for the gate": [
    ["git show HEAD:.env", "git", "gate"],
    ["cat 3< .env <&3", "cat", "gate"],
    ["cat 2>&-.env", "cat", "gate"],
    ["cat ~/.ssh/id_rsa", "cat", "gate"],
    ["cat outside/../etc/passwd", "cat", "gate"],
    ["cat */passwd", "cat", "gate"],
    ["sed -n 1p .env", "sed", "gate"],
    ["find / -name x", "find", "gate"],
    ["xargs -a .env echo", "echo", "gate"],
    ["git cat-file -p HEAD:sub/.npmrc", "git", "gate"],
    ["cd src; cat .env", "cd cat", "gate"],
    ["find . -exec cat .env \\;", "find cat", "gate"],
  ],
};

/**
 * Commands that plant something for git, or for a person who opens a repository, to run later: it
 * makes `pwned`.
 */
export function plantsFor(pwned: string) {
  const FS = `touch ${pwned}; false`;
  const RUNS = `'#!/bin/sh\\ntouch ${pwned}\\n'`;
  const hook = (at: string) =>
    `mkdir -p ${at}; for h in pre-commit post-index-change post-commit; do printf ${RUNS} > ${at}/$h; chmod 755 ${at}/$h; done`;
  const PLANTS: [what: string, command: string][] = [
    ["in a submodule's configuration", `git config -f .git/modules/sub/config core.fsmonitor '${FS}'`],
    ["by another folder in a submodule's place", `mv .git/modules m; cp -r m .git/modules; git config -f .git/modules/sub/config core.fsmonitor '${FS}'`],
    ["by leading a submodule elsewhere",
      `cp -r .git/modules/sub evil; git config -f evil/config core.fsmonitor '${FS}'; git config -f evil/config core.worktree ../sub; echo 'gitdir: ../evil' > sub/.git`],
    ["in a nested repository's hooks", hook("nested/.git/hooks")],
    ["by another repository in a nested one's place", `rm -rf nested; git init -q nested; git -C nested config core.fsmonitor '${FS}'`],
    ["by moving a nested repository and changing it", `mv nested moved; git -C moved config core.fsmonitor '${FS}'`],
    ["by an include in a nested repository", `git -C nested config include.path ../../i; git config -f i core.fsmonitor '${FS}'`],
    ["by a section behind a section", `printf '[core][core]fsmonitor="${FS}"\\n' >> nested/.git/config`],
    ["by leading a worktree elsewhere", `cp -r .git evil; git config -f evil/config core.fsmonitor '${FS}'; echo ${"$PWD"}/evil > .git/worktrees/tree/commondir`],
    ["by a worktree's .git file", `cp -r .git evil; git config -f evil/config core.fsmonitor '${FS}'; rm tree/.git; echo "gitdir: $PWD/evil" > tree/.git`],
    ["in a bare repository", `git -C bare.git config core.fsmonitor '${FS}'; git -C bare.git config core.bare false; git -C bare.git config core.worktree ..`],
    ["in a new bare repository", `git init -q --bare b; git -C b config alias.x '!touch ${pwned}'`],
    ["in a new repository far down", `mkdir -p new; git init -q new/deep; git -C new/deep config alias.x '!touch ${pwned}'; ${hook("new/deep/.git/hooks")}`],
    ["in a new repository behind a folder that nobody may enter", `mkdir n2; git init -q n2; git -C n2 config alias.x '!touch ${pwned}'; chmod 000 n2/.git`],
    ["in a new worktree",
      `git worktree add -q wt 2>/dev/null; cp -r .git evil; git config -f evil/config alias.x '!touch ${pwned}'; echo $PWD/evil > .git/worktrees/wt/commondir`],
    ["in the hooks of a package", `printf ${RUNS} > .husky/pre-commit`],
    ["by another folder for the hooks of a package", `mv .husky h; ${hook(".husky")}`],
    ["in what an alias starts", `printf ${RUNS} > tools/status.sh`],
    ["in what the configuration includes", `printf '[core]\\n\\tfsmonitor = "${FS}"\\n' > git.inc`],
  ];
  return { FS, PLANTS, hook };
}
