// The text of a PDF, page by page.
import { extractText, getDocumentProxy, getMeta } from "unpdf";

const MAX_PAGES = 500;

export async function textOf(bytes: Uint8Array): Promise<{ text: string; title: string }> {
  const document = await getDocumentProxy(bytes).catch((error: Error) => {
    throw new Error(
      `Cannot read the PDF: ${error.name === "PasswordException" ? "it needs a password" : "it is damaged, or not a PDF"}.`,
    );
  });
  if (document.numPages > MAX_PAGES)
    throw new Error(`Cannot read the PDF: it has ${document.numPages} pages, and ${MAX_PAGES} is the limit.`);
  const { info } = await getMeta(document).catch(() => ({ info: {} as Record<string, unknown> }));
  const { text } = await extractText(document, { mergePages: false });
  const pages = text.map((page, i) => `--- page ${i + 1} of ${text.length} ---\n${page.trim()}`);
  if (!text.some((page) => page.trim())) throw new Error("Cannot read the PDF: it holds pictures alone, and no text.");
  return { text: pages.join("\n\n"), title: typeof info.Title === "string" ? info.Title.trim() : "" };
}
