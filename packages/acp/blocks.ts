// Parts of messages of the protocol.
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import type { ContentBlock, ToolCallContent } from "@agentclientprotocol/sdk";

export const imageBlock = ({ type, base64 }: { type: string; base64: string }): ContentBlock => ({
  type: "image",
  mimeType: type,
  data: base64,
});

export const fileBlock = (filePath: string): ContentBlock => ({
  type: "resource_link",
  uri: pathToFileURL(filePath).href,
  name: basename(filePath),
});

export const inCall = (content: ContentBlock): ToolCallContent => ({ type: "content", content });
