// show_image draws an image of the project for the person, under the row of its call. The model
// does not get it.
import { closeSync } from "node:fs";
import type { Ctx, Zz } from "zz";
import { type MediaFile, readMedia } from "zz/text";
import type { Screen } from "./screen.ts";

export const SHOW_IMAGE = "show_image";

export function addShowImage(zz: Zz<any>, screen: Screen): void {
  zz.tool({
    name: SHOW_IMAGE,
    kind: "read",
    description: "Show an image file to the person.",
    aliases: ["display_image"],
    params: { path: "string relative to the project" },
    also: { path: ["file", "file_path", "filename"] },
    needs: ({ path }) => ({ read: [path] }),
    async run({ path }, ctx) {
      const cannot = (reason: string) => new Error(`Cannot show '${path}': ${reason}`);
      const { openDrawer } = await import("./images.ts");
      const drawer = await openDrawer(screen, ctx);
      const image = imageAt(path, ctx, cannot);
      const { type, bytes, width, height } = image;
      const otherwise = (reason: string) =>
        cannot(`${reason}. open_file opens it in the person's own program.`);
      const obstacle = typeof drawer === "string" ? drawer : drawer.unfit(image);
      if (obstacle || typeof drawer === "string") throw otherwise(`${obstacle}`);
      const drawing = (async () => drawer.draw(image))();
      screen.pictures.set(
        path,
        await drawing.catch(({ message }) => Promise.reject(otherwise(message))),
      );
      return {
        text: `The person sees '${path}' (${width} × ${height}).`,
        data: { path, type, bytes, width, height },
      };
    },
    render: ({ data }) => {
      const { width, height } = (data ?? {}) as { width?: number; height?: number };
      return width ? `${width} × ${height}` : "";
    },
  });
}

function imageAt(path: string, { files }: Ctx, cannot: (reason: string) => Error): MediaFile {
  const fd = files.open(files.path(path));
  try {
    const media = readMedia(fd);
    if (media?.type.startsWith("image/")) return media;
  } catch (error) {
    throw cannot((error as Error).message);
  } finally {
    closeSync(fd);
  }
  throw cannot("it is not an image. Choose another.");
}
