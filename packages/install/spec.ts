// Reads what is to be installed: an npm package, a git URL, a path or an example, told apart by how
// it is written.
import fs from "node:fs";
import path from "node:path";
import { expandHome, tryTo, usage } from "zz/text";
import { plain } from "./files.ts";

/** `text` names the same from any folder. */
export type Spec =
  | { kind: "npm"; text: string; name: string }
  | { kind: "git"; text: string; url: string; ref: string }
  | { kind: "path"; text: string }
  | { kind: "example"; text: string };

const PACKAGE_NAME = /^((?:@[a-z0-9~-][\w.~-]*\/)?[a-zA-Z0-9~][\w.~-]*)(?:@([\w.^~<>=|*+-]+))?$/;
const SCP_ADDRESS = /^[\w.-]+@[A-Za-z0-9][\w.-]*:(?!\/\/)[^-\s]/;
const GIT_REF = /^(?!.*\.\.)\w[\w./+@-]*$/;
const INSTALLABLE =
  "An npm package (name, name@1.2.3, @scope/name), a folder or file (./x.ts), " +
  "a git URL (git+https://, …), or zz/NAME";

export function specOf(typedSpec: string, projectRoot: string): Spec {
  const text = typedSpec.trim();
  const refuse = (reason: string) => usage(`Cannot install '${plain(text)}': ${reason}`);
  if (!text) throw usage(`Cannot install: nothing is named. ${INSTALLABLE} can be.`);
  if (/^(git\+|(git|ssh|file|https?):\/\/)/.test(text) || SCP_ADDRESS.test(text))
    return gitSpec(text.replace(/^git\+/, ""));
  if (/^zz\/[\w-]+$/.test(text)) return { kind: "example", text };
  const absolutePath = path.resolve(projectRoot, expandHome(text));
  const [, name] = PACKAGE_NAME.exec(text) ?? [];
  const isPath =
    /^(\.{0,2}|~)\//.test(text) || /^\.{1,2}$|^~$/.test(text) || (text.includes("/") && !name);
  if (
    isPath ||
    /\.(?:tgz|tar(?:\.gz)?)$/.test(text) ||
    (/\.[cm]?[jt]sx?$/.test(text) && fs.existsSync(absolutePath))
  )
    return { kind: "path", text: absolutePath };
  if (name) return { kind: "npm", text, name };
  throw refuse(`it is none of what can be installed. ${INSTALLABLE} can be.`);

  function gitSpec(gitUrl: string): Spec {
    const [url = "", ref = ""] = gitUrl.split(/#(.*)/s);
    const { username = "", password = "" } = URL.canParse(url) ? new URL(url) : {};
    if (ref && !GIT_REF.test(ref))
      throw refuse("what follows the # is not a branch, tag or commit. Name one.");
    if (/^https?:/.test(text) && !/\.git\/?$/.test(url))
      throw refuse(
        "a web address may be anything. " +
          "Write git+https://… for a repository, or download the file first.",
      );
    if (/\s/.test(gitUrl) || !(SCP_ADDRESS.test(url) || pathOf(url) !== undefined))
      throw refuse("it is not a URL. Check it.");
    if (!SCP_ADDRESS.test(url) && /^\/*$/.test(pathOf(url)!))
      throw refuse("it names no repository. Add its path.");
    if (password || (username && url.startsWith("http")))
      throw refuse(
        "it holds a password, which would be kept and shown. " +
          "Leave it out; git has credential helpers for that.",
      );
    return {
      kind: "git",
      text: SCP_ADDRESS.test(url) || /^(git|ssh|file):/.test(text) ? gitUrl : `git+${gitUrl}`,
      url,
      ref,
    };
  }
}

/** Undefined: it is no URL, or one with a % that is not followed by two digits. */
export const pathOf = (parsedUrl: string): string | undefined =>
  tryTo(() => decodeURIComponent(new URL(parsedUrl).pathname));

export const hostOf = (gitUrl: string): string => {
  if (SCP_ADDRESS.test(gitUrl)) return gitUrl.split(/[@:]/)[1]!;
  if (URL.canParse(gitUrl)) return new URL(gitUrl).hostname;
  return "";
};
