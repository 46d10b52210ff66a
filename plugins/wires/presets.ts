// Every provider that zz knows by name: where it is, where its key stands, what it speaks, and how it differs.
import type { Preset } from "./contract.ts";

export const PRESETS: Preset[] = [
  {
    name: "openai",
    wire: "chat",
    url: "https://api.openai.com/v1",
    key: "OPENAI_API_KEY",
    model: "gpt-4o-mini",
    is: "default",
  },
];
