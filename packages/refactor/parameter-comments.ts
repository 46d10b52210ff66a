// The comments of parameters and of arguments: they move along, or are a reason to refuse.
import path from "node:path";
import { Node } from "ts-morph";
import type { Edit } from "./project.ts";

/** In lines of their own, or one in the same line. */
const GOES_ALONG =
  /^\s*(\n\s*(\/\/.*|\/\*((?!\*\/)[\s\S])*\*\/))*\s*(\/\*((?!\*\/).)*\*\/[ \t]*)?$/;

/**
 * A comment goes along with what it stands right before; of any other nobody knows what it is
 * about.
 */
export function checkComments(
  listHolder: Node,
  oldItems: Node[],
  newTexts: string[],
  closeParen: Node | undefined,
): void {
  const sourceFile = listHolder.getSourceFile();
  const fileText = sourceFile.getFullText();
  const leadingGaps = oldItems.map((node, i) =>
    fileText
      .slice(oldItems[i - 1]?.getEnd() ?? node.getPos(), node.getStart())
      .replace(/^\s*,/, ""),
  );
  const trailingGap =
    closeParen && oldItems.length
      ? fileText.slice(oldItems.at(-1)!.getEnd(), closeParen.getStart())
      : "";
  const isUnchanged =
    newTexts.length === oldItems.length &&
    oldItems.every((oldItem, i) => oldItem.getFullText().trim() === newTexts[i]);
  const strayComment = [...leadingGaps, trailingGap].find(
    (gap, i) => /\/[/*]/.test(gap) && (i === leadingGaps.length || !GOES_ALONG.test(gap)),
  );
  if (strayComment === undefined || isUnchanged) return;
  const location = `${path.basename(sourceFile.getFilePath())}:${listHolder.getStartLineNumber()}`;
  throw new Error(
    `the comment '${strayComment.replace(/^[\s,]+|\s+$/g, "").slice(0, 80)}' at ${location} ` +
      "would be lost or belong to another. Edit it by hand.",
  );
}

/** The line about a parameter in the comment of its function. */
export function documentationOf(callable: Node, parameterName: string): Edit[] {
  const documentedNode = Node.isJSDocable(callable)
    ? callable
    : callable.getFirstAncestor(Node.isJSDocable);
  const docTags = (documentedNode?.getJsDocs() ?? []).flatMap((docComment) => docComment.getTags());
  return docTags
    .filter((docTag) => Node.isJSDocParameterTag(docTag) && docTag.getName() === parameterName)
    .map((docTag) => ({
      file: docTag.getSourceFile().getFilePath(),
      start: docTag.getStart(),
      end: docTag.getEnd(),
      text: "",
    }));
}
