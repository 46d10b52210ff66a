// The house, held to its drawing in docs/how-it-is-built.md: what imports what, and which plugins
// the kernel knows by name.
import { deepEqual, equal, match } from "node:assert/strict";
import { builtinModules } from "node:module";
import { basename } from "node:path";
import { describe, test } from "node:test";
import {
  dynamicImports,
  filesOf,
  HOUSE,
  importsOf,
  PLUGINS,
  ROOMS_PICTURE,
  resolved,
  roomOf,
  rooms,
  roomsPicture,
  rootOf,
  specifiersOf,
  text,
  valueImports,
} from "../support/rooms.ts";

const DATA = ["kernel/settings/flags.json"]; // what else holds names of flags

/** Strings of the kernel that are also the name of a plugin, or a flag of one. Most name something
 * else, as they say here; the others should go. No row may be added: what a plugin is to the
 * kernel, it says itself, in the words of the contract. */
const ALSO_PLUGINS: [file: string, names: string, why: string][] = [
  ["kernel/program/options-from-flags.ts", "config", "the flag"],
  ["kernel/program/command-line.ts", "trust", "what a command offers"],
  ["kernel/contract.ts", "env", "a kind of need"],
  ["kernel/contract.ts", "memory rules", "slots"],
  ["kernel/program/run-dialog.ts", "history", "a file of the home"],
  ["kernel/program/run-dialog.ts", "trust", "what a command offers"],
  ["kernel/system/atomic-write.ts", "sessions", "a folder of the home"],
  ["kernel/changes/tool-files.ts", "undo", "which way to go"],
  ["kernel/settings/flags.json", "config", "the flag"],
  ["kernel/gate/gate.ts", "answer", "where a rule is from"],
  ["kernel/system/safe-git.ts", "config git hooks", "the program, its command and its folder"],
  ["kernel/text/name-patterns.ts", "env", "a kind of need"],
  ["kernel/conversation/system-prompt.ts", "rules", "a slot"],
  ["kernel/gate/rules.ts", "history memory sessions skills", "files and folders of the home"],
  ["kernel/system/installation.ts", "sessions", "a folder of the home"],
  ["kernel/conversation/session-files.ts", "sessions", "a folder of the home"],
  ["kernel/settings/settings-files.ts", "models", "the setting"],
  ["kernel/conversation/choose-model.ts", "models", "the setting"],
  ["kernel/changes/undo.ts", "undo", "which way to go"],
];

/** Texts but for those of imports and types. */
const STRING = /(?<!(?:from|import) |\| |')"((?:--|\/)?\w[\w/-]*)"(?! \|)/g;

describe("The drawing of the rooms", () => {
  test("names every room of kernel/ and every file beside them", () => {
    deepEqual(
      rooms.filter((room) => room.startsWith("kernel/")).sort(),
      [...new Set(filesOf("kernel").map(roomOf))].sort(),
    );
  });

  test("is kept: every import, of values and of types, stays in its room or points down", () => {
    const wrong = HOUSE.flatMap((file) =>
      importsOf(file)
        .filter(
          (to) =>
            to !== file &&
            roomOf(to) !== roomOf(file) &&
            !(rooms.indexOf(roomOf(to)) > rooms.indexOf(roomOf(file))),
        )
        .map((to) => `${file} → ${to}`),
    );
    deepEqual(wrong, [], "imports that point up or out of the house");
  });

  test("is the picture, too", () =>
    equal(text(ROOMS_PICTURE), roomsPicture(), "`npm run pictures` makes it again."));

  test("stands over files whose first line says what they do", () =>
    deepEqual(
      HOUSE.filter((file) => !/^\/[/*]/.test(text(file))),
      [],
    ));

  test("has a README in each room: its first line is its job, and what it keeps for itself nobody else imports", () => {
    const users = HOUSE.flatMap((file) =>
      [...importsOf(file), ...dynamicImports(file)].map((to) => ({ file, to })),
    );
    for (const room of rooms.filter((room) => /^kernel\/.*\/$/.test(room))) {
      const [job = "", , inside = ""] = text(`${room}README.md`).split("\n");
      match(job, /^\w.{20,100}\.$/, room);
      const own = [...inside.matchAll(/`([^`]+)`/g)].map(([, name]) => room + name);
      deepEqual(
        own.filter((file) => !HOUSE.includes(file)),
        [],
        `${room}README.md names files that are not there`,
      );
      deepEqual(
        users.filter(({ file, to }) => own.includes(to) && roomOf(file) !== room),
        [],
        `kept for ${room} alone`,
      );
    }
  });
});

describe("Kernel and plugins", () => {
  test("kernel/ imports only from kernel/, and nothing of the house imports a plugin", () => {
    const wrong = HOUSE.flatMap((file) => {
      const isKernel = file.startsWith("kernel/");
      const all = [...valueImports(file), ...dynamicImports(file)];
      return all
        .filter((to) => /^(plugins|packages)\//.test(to) || (isKernel && !to.startsWith("kernel/")))
        .map((to) => `${file} → ${to}`);
    });
    deepEqual(wrong, []);
  });

  test('a plugin imports values only from its own folder, "zz/text", packages and Node', () => {
    // lent at run time, and bundled
    const { dependencies, devDependencies } = JSON.parse(text("package.json"));
    const ofPackage = (file: string) => {
      const manifest = JSON.parse(text(`${rootOf(file)}/package.json`));
      return { ...dependencies, ...manifest.dependencies, ...manifest.optionalDependencies };
    };
    const known = (file: string) =>
      file.startsWith("packages/") ? ofPackage(file) : { ...dependencies, ...devDependencies };
    const wrong = PLUGINS.flatMap((file) =>
      specifiersOf(file)
        .filter(({ isType, specifier }) => {
          if (isType) return false;
          if (specifier.startsWith(".")) return rootOf(resolved(file, specifier)) !== rootOf(file);
          const name = specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
          const isKnown =
            specifier.startsWith("node:") || builtinModules.includes(name) || name in known(file);
          return specifier !== "zz/text" && !isKnown;
        })
        .map(({ specifier }) => `${file} → ${specifier}`),
    );
    deepEqual(wrong, []);
  });

  test("the kernel names no plugin and no flag of one", () => {
    const plugins = new Set(PLUGINS.map((file) => basename(rootOf(file), ".ts")));
    const FLAG = /\.flag\(\{\s*name: "([\w-]+)"/g;
    const flags = new Set(
      PLUGINS.flatMap((file) => [...text(file).matchAll(FLAG)]).map(([, name]) => `--${name}`),
    );
    const isPlugins = (one: string) =>
      flags.has(one) || plugins.has(one.replace(/^\//, "").split("/")[0]!);
    const found = [...HOUSE, ...DATA]
      .filter((file) => !file.startsWith("sdk/"))
      .flatMap((file) =>
        [...new Set(Array.from(text(file).matchAll(STRING), ([, one]) => one!))]
          .filter(isPlugins)
          .map((one) => `${file}: ${one}`),
      );
    const listed = ALSO_PLUGINS.flatMap(([file, names]) =>
      names.split(" ").map((name) => `${file}: ${name}`),
    );
    deepEqual(
      found.sort(),
      listed.sort(),
      "a name that is gone leaves the list; a new one is not added to it",
    );
  });
});
