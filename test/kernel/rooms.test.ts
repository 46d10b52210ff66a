// The house, held to its drawing in docs/how-it-is-built.md: what imports what, and which plugins
// the kernel knows by name.
import { deepEqual, match } from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { basename, dirname, join, posix } from "node:path";
import { describe, test } from "node:test";
import { ts } from "@ts-morph/common";
import { ROOT } from "../support/run.ts";

const PAGE = "docs/how-it-is-built.md";
const text = (file: string): string => readFileSync(join(ROOT, file), "utf8");
const page = text(PAGE);

const filesOf = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => `${folder}/${name}`)
    .sort();
const HOUSE = ["zz.ts", ...filesOf("kernel"), ...filesOf("sdk")];
const DATA = ["kernel/settings/flags.json"]; // what else holds names of flags
const PLUGINS = ["plugins", "packages"]
  .flatMap(filesOf)
  .filter((file) => !/^[^/]+\/[^/]+\/test\//.test(file));
const rooms = roomsOf(page);

/**
 * Strings of the kernel that are also the name of a plugin, or a flag of one. Most name something
 * else, as they say here; the others should go. No row may be added: what a plugin is to the
 * kernel, it says itself, in the words of the contract.
 */
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
  ["kernel/system/safe-git.ts", "config git", "the program and its command"],
  ["kernel/text/name-patterns.ts", "env", "a kind of need"],
  ["kernel/conversation/system-prompt.ts", "rules", "a slot"],
  ["kernel/gate/rules.ts", "env", "a kind of need"],
  ["kernel/gate/rules.ts", "history memory sessions skills", "files and folders of the home"],
  ["kernel/system/installation.ts", "sessions", "a folder of the home"],
  ["kernel/conversation/session-files.ts", "sessions", "a folder of the home"],
  ["kernel/settings/settings-files.ts", "models", "the setting"],
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

/** From top to bottom: `kernel/gate/` for a folder, `zz.ts` for a file. */
function roomsOf(markdown: string): string[] {
  const [, drawing = ""] = /^## The rooms$.*?^```text\n(.*?)^```$/ms.exec(markdown) ?? [];
  return drawing.split("\n").flatMap((row) => row.match(/^\S+/)?.[0] ?? []);
}
function roomOf(file: string): string {
  return rooms.includes(file)
    ? file
    : `${file
        .split("/")
        .slice(0, file.startsWith("sdk/") ? 1 : 2)
        .join("/")}/`;
}
/** Types too. */
const importsOf = (file: string): string[] =>
  specifiersOf(file).flatMap(({ specifier }) =>
    /^\.\.?\/.*\.ts$/.test(specifier) ? [resolved(file, specifier)] : [],
  );

const resolved = (file: string, specifier: string): string => posix.join(dirname(file), specifier);
/**
 * `plugins/undo.ts` is a plugin by itself, `plugins/shell/judge/words.ts` belongs to
 * `plugins/shell`.
 */
const rootOf = (file: string): string => file.split("/").slice(0, 2).join("/");

/**
 * What a file imports or exports from, at its top level; isType: all of it goes away when it is
 * run.
 */
function specifiersOf(file: string): { specifier: string; isType: boolean }[] {
  return ts
    .createSourceFile(file, headOf(file), ts.ScriptTarget.Latest)
    .statements.flatMap((one) => {
      if (ts.isImportDeclaration(one)) {
        const { importClause } = one;
        const bindings = importClause?.namedBindings;
        const named = bindings && ts.isNamedImports(bindings) ? bindings.elements : undefined;
        const onlyTypes = Boolean(
          named?.length && !importClause?.name && named.every(({ isTypeOnly }) => isTypeOnly),
        );
        return [
          {
            specifier: textOf(one.moduleSpecifier),
            isType: Boolean(importClause?.isTypeOnly) || onlyTypes,
          },
        ];
      }
      if (!ts.isExportDeclaration(one) || !one.moduleSpecifier) return [];
      const named =
        one.exportClause && ts.isNamedExports(one.exportClause)
          ? one.exportClause.elements
          : undefined;
      const onlyTypes = Boolean(named?.length && named.every(({ isTypeOnly }) => isTypeOnly));
      return [{ specifier: textOf(one.moduleSpecifier), isType: one.isTypeOnly || onlyTypes }];
    });
}
/** Up to the last line that may import something: parsing all of each plugin takes seconds. */
function headOf(file: string): string {
  const last = [...text(file).matchAll(/^(import|export|\}).*( from )?["'].*["'].*$/gm)].at(-1);
  return text(file).slice(0, last ? last.index + last[0].length : 0);
}
const textOf = (node: ts.Node): string => (ts.isStringLiteralLike(node) ? node.text : "");

/** Of the house: packages and Node are not in it. Data is on no floor. */
const valueImports = (file: string): string[] =>
  specifiersOf(file)
    .filter(
      ({ specifier, isType }) =>
        !isType && specifier.startsWith(".") && !specifier.endsWith(".json"),
    )
    .map(({ specifier }) => resolved(file, specifier));

const dynamicImports = (file: string): string[] =>
  Array.from(text(file).matchAll(/(?<!typeof )\bimport\("(\.[^"]*)"\)(?!\.[A-Z])/g), ([, to]) =>
    resolved(file, to!),
  );
