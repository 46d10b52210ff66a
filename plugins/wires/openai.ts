// The two wires of OpenAI and all that are like it. Their client is loaded only for Azure, when a request goes out.
export { chat } from "./chat.ts";
export { responses } from "./responses.ts";
