// The two wires of OpenAI and compatible servers. The official client is loaded only for Azure, with the first request.
export { chat } from "./chat.ts";
export { responses } from "./responses.ts";
