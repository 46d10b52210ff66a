// Reads what is to be installed: an npm package, a git URL, a path or an example, told apart by how it is written.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { usage } from "zz/text";
import { plain } from "./contents.ts";

export type Spec =
  | { kind: "npm"; text: string; name: string }
  | { kind: "git"; text: string; url: string; ref: string }
  | { kind: "path"; text: string; file: string }
  | { kind: "example"; text: string; name: string };

const PACKAGE_NAME = /^((?:@[a-z0-9~-][\w.~-]*\/)?[a-zA-Z0-9~][\w.~-]*)(?:@([\w.^~<>=|*+-]+))?$/;
const SCP = /^[\w.-]+@[A-Za-z0-9][\w.-]*:(?!\/\/)[^-\s]/;
const REF = /^\w[\w./+@-]*$/;
const KNOWN =
  "An npm package (name, name@1.2.3, @scope/name), a folder or file (./x.ts), a git URL (git+https://…, https://….git#ref), or zz/NAME";

export function specOf(given: string, root: string): Spec {
  const text = given.trim();
  const refuse = (why: string) => usage(`Cannot install '${plain(text)}': ${why}`);
  if (!text) throw usage(`Cannot install: nothing is named. ${KNOWN} can be.`);
  if (text.startsWith("-")) throw refuse(`it begins with a dash, as flags do. ${KNOWN} can be installed.`);
  if (/[\x00-\x1f\x7f]/.test(text)) throw refuse("it holds control characters. Leave them out.");
  const url = text.replace(/^git\+/, "");
  if (/^(git\+|(git|ssh|file|https?):\/\/)/.test(text) || SCP.test(text)) return gitSpec(url);
  const file = path.resolve(root, text.replace(/^~(?=\/|$)/, os.homedir()));
  const example = /^zz\/([\w-]+)$/.exec(text)?.[1];
  if (example) return { kind: "example", text, name: example };
  const [, name] = PACKAGE_NAME.exec(text) ?? [];
  const isPath = /^(\.{0,2}|~)\//.test(text) || /^\.{1,2}$|^~$/.test(text) || (text.includes("/") && !name);
  if (isPath || (/\.(?:[cm]?[jt]sx?|tgz|tar\.gz)$/.test(text) && fs.existsSync(file)))
    return { kind: "path", text: file, file };
  if (name) return { kind: "npm", text, name };
  throw refuse(`it is none of what can be installed. ${KNOWN} can be.`);

  function gitSpec(whole: string): Spec {
    const [url = "", ref = ""] = whole.split(/#(.*)/s);
    if (/\s/.test(whole)) throw refuse("a URL holds no spaces. Write %20 for one.");
    if (ref && (!REF.test(ref) || ref.includes("..")))
      throw refuse("what follows the # is not a branch, tag or commit. Name one.");
    if (/^https?:/.test(text) && !/\.git\/?$/.test(url))
      throw refuse("a web address may be anything. Write git+https://… for a repository, or download the file first.");
    const host = hostOf(url);
    if (!SCP.test(url) && (!URL.canParse(url) || (!host && !url.startsWith("file:")) || host.startsWith("-")))
      throw refuse("it is not a URL. Check it.");
    const { username = "", password = "" } = URL.canParse(url) ? new URL(url) : {};
    if (password || (username && url.startsWith("http")))
      throw refuse(
        "it holds a password, which would be kept and shown. Leave it out; git has credential helpers for that.",
      );
    return { kind: "git", text: SCP.test(url) || /^(git|ssh|file):/.test(text) ? whole : `git+${whole}`, url, ref };
  }
}

export const hostOf = (url: string): string =>
  SCP.test(url) ? url.split(/[@:]/)[1]! : URL.canParse(url) ? new URL(url).hostname : "";
