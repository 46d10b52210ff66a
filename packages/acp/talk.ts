// The state that the parts of a conversation with an editor share.
import { AsyncLocalStorage } from "node:async_hooks";
import * as acp from "@agentclientprotocol/sdk";
import type { Answer, Ctx, DialogHost, Difference, Zz } from "zz";

/** The call that is under way. */
export interface Running {
  id: string;
  changes: readonly Difference[];
  about?: string; // what the question says besides them
  preview?: string; // all of it, as the prompt would show it
  unsaved: string[]; // notes with the text of files that the editor has not saved
}
export interface Talk {
  zz: Zz;
  host: DialogHost;
  ctx: Ctx;
  id: string; // the session's, as the editor knows it
  editor: acp.AgentContext;
  can: acp.ClientCapabilities;
  mode: string;
  turn: AbortController; // aborts when the editor cancels
  failed?: { message: string; exit: number } | undefined;
  finish: Answer["finish"];
  busy: boolean;
  written: string; // of the answer, while it comes
  key?: string | undefined; // the client's own name for the prompt that is under way
}
export const running = new AsyncLocalStorage<Running>();

/** Sends an update; does nothing once the editor has left. */
export const tell = ({ editor, id }: Talk, update: acp.SessionUpdate): Promise<void> =>
  editor.notify(acp.methods.client.session.update, { sessionId: id, update }).catch(() => {});
