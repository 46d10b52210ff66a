// The family that a question offers to allow: never one that runs whatever it is given.
import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { familyOf } from "../../../plugins/shell/command-family.ts";
import {
  ASK_REASONS,
  INTERPRETERS,
  PACKAGE_RUNNERS,
  WRAPPERS,
} from "../../../plugins/shell/judge/program-table.ts";

const offered = (commands: string[]) =>
  commands.filter((command) => familyOf(command) !== undefined);
const OTHERS = `npm --prefix x run|npm exec evil|bash -c x|python3.12 a.py|./script.sh x|A=1 npm run x|to* x|$CMD x|mkdir
  hatch run x|pdm run x|rye run x|tox -e x|conda run x|nix develop -c x|mise exec x|op run -- x|doppler run -- x|heroku run x
  turbo run x|nx run x|vagrant ssh -c x|wsl ls|flatpak run x|act push|bazel run x|mix run x|stack exec x|opam exec x|xvfb-run x
  systemd-run --user|make all|just build|rake x|unshare -r|nsenter -t 1|chroot /x|docker run x|docker exec a sh|podman run x
  kubectl exec p|kubectl run p|go run x.go|dotnet run x|uv tool run x|poetry shell|rails console|rails runner x|cargo x|pipenv shell`;

test("what the judge knows to run others has none, nor have the verbs that do", () => {
  const programs = [...INTERPRETERS, ...Object.keys(WRAPPERS), ...ASK_REASONS.keys()];
  deepEqual(offered(programs.map((name) => `${name} build x`)), []);
  deepEqual(offered(PACKAGE_RUNNERS.map(({ words }) => `${words.join(" ")} x`)), []);
  deepEqual(offered(OTHERS.split(/[|\n]/).map((one) => one.trim())), []);
});

test("others have the words that say what they do", () => {
  const rows = {
    "npm run build -- --watch": "npm run",
    "npm test": "npm test",
    "mkdir a b": "mkdir",
    "git log -p": "git log",
    "eslint src": "eslint",
    "cargo test x": "cargo test",
    "uv sync x": "uv sync",
  };
  for (const [command, family] of Object.entries(rows)) deepEqual(familyOf(command), family);
});
