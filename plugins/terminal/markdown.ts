export function renderMarkdown(text: string, _look: object): string {
  return text;
}
