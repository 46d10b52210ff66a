// The two wires of OpenAI and all that are like it, with their client: one file of the bundle, loaded when a request goes out.
export { chat } from "./chat.ts";
export { responses } from "./responses.ts";
