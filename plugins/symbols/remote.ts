// The language service, in a thread of its own: it may take seconds, and the conversation goes on.
export function openRemote(_root: string) {
  return { async close(): Promise<void> {} };
}
