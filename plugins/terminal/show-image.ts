// show_image draws an image of the project for the person, under the row of its call. The model
// does not get it.
import { closeSync } from "node:fs";
import type { Ctx, Zz } from "zz";
import { type MediaFile, readMedia } from "zz/text";
import type { Screen } from "./screen.ts";

export const SHOW_IMAGE = "show_image";

export function addShowImage(zz: Zz, screen: Screen): void {
  zz.tool({
    name: SHOW_IMAGE,
    kind: "read",
    description: "Show an image file to the person.",
    aliases: ["display_image"],
    params: { path: "string relative to the project" },
    also: { path: ["file", "file_path", "filename"] },
    needs: ({ path }) => ({ read: [path] }),
    async run({ path }, ctx) {
      const createError = (failureReason: string) =>
        new Error(`Cannot show '${path}': ${failureReason}`);
      const { openDrawer } = await import("./images.ts");
      const drawer = await openDrawer(screen, ctx);
      const imageFile = imageAt(path, ctx, createError);
      const { type, bytes, width, height } = imageFile;
      const otherwise = (failureReason: string) =>
        createError(`${failureReason}. open_file opens it in the person's own program.`);
      const obstacle = typeof drawer === "string" ? drawer : drawer.unfit(imageFile);
      if (obstacle || typeof drawer === "string") throw otherwise(`${obstacle}`);
      const drawing = (async () => drawer.draw(imageFile))();
      screen.pictures.set(
        path,
        await drawing.catch(({ message }) => Promise.reject(otherwise(message))),
      );
      return {
        text: `The person sees '${path}' (${width} × ${height}).`,
        data: { path, type, bytes, width, height },
      };
    },
    render({ data }) {
      const { width, height } = data as MediaFile;
      return `${width} × ${height}`;
    },
  });
}

function imageAt(
  imagePath: string,
  { files }: Ctx,
  createError: (failureReason: string) => Error,
): MediaFile {
  const fileDescriptor = files.open(files.path(imagePath));
  try {
    const mediaFile = readMedia(fileDescriptor);
    if (mediaFile?.type.startsWith("image/")) return mediaFile;
  } catch (readError) {
    throw createError((readError as Error).message);
  } finally {
    closeSync(fileDescriptor);
  }
  throw createError("it is not an image. Choose another.");
}
