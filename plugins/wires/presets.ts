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
  {
    name: "anthropic",
    wire: "anthropic",
    url: "https://api.anthropic.com",
    key: "ANTHROPIC_API_KEY",
    model: "claude-sonnet-4-5",
  },
  {
    name: "gemini",
    wire: "gemini",
    url: "https://generativelanguage.googleapis.com/v1beta",
    key: "GEMINI_API_KEY",
    model: "gemini-2.5-flash",
  },
];
