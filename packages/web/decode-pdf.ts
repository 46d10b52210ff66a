// The text of a PDF, page by page. It runs in a process of its own.
import { extractText, getDocumentProxy, getMeta } from "unpdf";
import type { Job } from "zz/text";

const MAX_PAGES = 500;

export default (async (pdfBytes) => ({
  value: await readPdfText(Uint8Array.from(pdfBytes)),
})) satisfies Job;

async function readPdfText(pdfBytes: Uint8Array): Promise<{ text: string; title: string }> {
  const document = await getDocumentProxy(pdfBytes).catch((error: Error) => {
    throw error.name === "PasswordException" ? cannot("it needs a password") : error;
  });
  if (document.numPages > MAX_PAGES)
    throw cannot(`it has ${document.numPages} pages, and ${MAX_PAGES} is the limit`);
  const { info } = await getMeta(document).catch(() => ({ info: {} as Record<string, unknown> }));
  const { text } = await extractText(document, { mergePages: false });
  const pageTexts = text.map(
    (pageText, i) => `--- page ${i + 1} of ${text.length} ---\n${pageText.trim()}`,
  );
  if (!text.some((pageText) => pageText.trim()))
    throw cannot("it holds pictures alone, and no text");
  return {
    text: pageTexts.join("\n\n"),
    title: typeof info.Title === "string" ? info.Title.trim() : "",
  };
}

const cannot = (reason: string): Error => Object.assign(new Error(reason), { sentence: true });
