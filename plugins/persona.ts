// Who zz is here: IDENTITY.md, SOUL.md and RELATIONS.md, from the project's .zz/, else from the home.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Zz } from "zz";

const LAYERS = [
  { name: "identity", slot: "identity" },
  { name: "soul", slot: "identity" },
  { name: "relations", slot: "memory" },
] as const;

export default (zz: Zz) => {
  let home: string | undefined;
  for (const { name, slot } of LAYERS)
    zz.layer({
      name,
      slot,
      text(ctx) {
        home ??= ctx.about.home; // once: it lists whatever there is
        return nearest(`${name.toUpperCase()}.md`, home, ctx);
      },
    });
};

/** The project's hides the home's, even if it is empty. What a project says of zz is told as the project's word. */
async function nearest(name: string, home: string, { root, files }: Ctx): Promise<string | undefined> {
  const own = `.zz/${name}`;
  if (fs.existsSync(path.join(root, own))) {
    const text = textIn(own, (await files.read(own)).bytes); // by the gate: a link may lead out of the project
    return text && `From ${own}, which this project brings:\n${text}`;
  }
  const file = path.join(home, name);
  return fs.existsSync(file) ? textIn(file, fs.readFileSync(file)) : undefined;
}

function textIn(file: string, bytes: Uint8Array): string {
  if (bytes.subarray(0, 8_192).includes(0)) throw new Error(`Cannot use '${file}': it is not text. Write it anew.`);
  return new TextDecoder().decode(bytes).trim();
}
