// Answers that look the same with Markdown and without.

/**
 * Words and marks that mean nothing in Markdown; a dot or colon only where a word ends, since
 * www.example.org is a link.
 */
const PLAIN_WORDS =
  /^[A-Za-z][A-Za-z0-9,;'"?!()]*[.:]?(?: [A-Za-z0-9(][A-Za-z0-9,;'"?!()]*[.:]?)*$/;

/** Whether renderMarkdown() would give the text back as it is. */
export const isPlainLine = (answerText: string, columns: number): boolean =>
  answerText.length <= columns && PLAIN_WORDS.test(answerText);
