// Every provider that zz knows by name: its address, the variable that holds its key, its wire, and
// its quirks.
import type { Preset, Quirks } from "./wire-types.ts";

/** Models of OpenAI that think before they answer. */
const REASONING = /^(gpt-5|o[134](-|$)|codex-)|-codex/;
const OPENAI_QUIRKS: Quirks = {
  max: "max_completion_tokens",
  developer: REASONING,
  schema: "strict",
};
const LIMIT_FIELD = "max_completion_tokens";

// biome-ignore format: a preset a line, or a few.
export const PRESETS: Preset[] = [
  // the first is asked before the others when no model is named
  { name: "openai", url: "https://api.openai.com/v1", key: "OPENAI_API_KEY",
    address: "OPENAI_BASE_URL", model: "gpt-4o-mini", is: "default",
    quirks: { ...OPENAI_QUIRKS, responses: REASONING } },
  { name: "anthropic", wire: "anthropic", url: "https://api.anthropic.com",
    key: "ANTHROPIC_API_KEY", model: "claude-sonnet-4-5" },
  { name: "azure", url: "", key: "AZURE_OPENAI_API_KEY",
    address: "AZURE_OPENAI_ENDPOINT", quirks: { ...OPENAI_QUIRKS, auth: "api-key" } },
  { name: "cerebras", url: "https://api.cerebras.ai/v1", key: "CEREBRAS_API_KEY",
    model: "gpt-oss-120b",
    quirks: { max: LIMIT_FIELD, echo: "reasoning",
      without: ["frequency_penalty", "presence_penalty", "logit_bias", "service_tier"] } },
  { name: "deepseek", url: "https://api.deepseek.com", key: "DEEPSEEK_API_KEY",
    model: "deepseek-chat",
    quirks: { echo: "reasoning_content", effort: "thinking",
      schema: "json_object", without: ["seed"] } },
  { name: "fireworks", url: "https://api.fireworks.ai/inference/v1",
    key: "FIREWORKS_API_KEY", model: "accounts/fireworks/models/gpt-oss-120b" },
  { name: "gemini", wire: "gemini", url: "https://generativelanguage.googleapis.com/v1beta",
    key: "GEMINI_API_KEY", model: "gemini-2.5-flash" },
  { name: "github", url: "https://models.github.ai/inference", key: "GITHUB_TOKEN",
    model: "openai/gpt-4o-mini", named: true,
    quirks: { models: "https://models.github.ai/catalog/models" } },
  { name: "groq", url: "https://api.groq.com/openai/v1", key: "GROQ_API_KEY",
    model: "llama-3.3-70b-versatile", quirks: { max: LIMIT_FIELD } },
  { name: "huggingface", url: "https://router.huggingface.co/v1", key: "HF_TOKEN",
    model: "openai/gpt-oss-120b", named: true },
  { name: "llamacpp", url: "http://localhost:8080/v1", key: "LLAMA_API_KEY" },
  { name: "lmstudio", url: "http://localhost:1234/v1", key: "LMSTUDIO_API_KEY" },
  { name: "mistral", url: "https://api.mistral.ai/v1", key: "MISTRAL_API_KEY",
    model: "mistral-large-latest",
    quirks: { echo: "parts", effort: "high", without: ["stream_options"],
      between: true, ids: /^[A-Za-z0-9]{9}$/ } },
  { name: "moonshot", url: "https://api.moonshot.ai/v1", key: "MOONSHOT_API_KEY",
    model: "kimi-latest",
    quirks: { echo: "reasoning_content", effort: "thinking", schema: "json_object" } },
  { name: "nvidia", url: "https://integrate.api.nvidia.com/v1", key: "NVIDIA_API_KEY",
    model: "meta/llama-3.3-70b-instruct" },
  { name: "openrouter", url: "https://openrouter.ai/api/v1",
    key: "OPENROUTER_API_KEY", model: "openrouter/auto",
    quirks: { echo: "reasoning_details", effort: "reasoning" } },
  { name: "perplexity", url: "https://api.perplexity.ai", key: "PERPLEXITY_API_KEY",
    model: "sonar-pro",
    quirks: { without: ["stream_options"], tools: false,
      models: ["sonar", "sonar-pro", "sonar-reasoning-pro", "sonar-deep-research"] } },
  { name: "qwen", url: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    key: "DASHSCOPE_API_KEY", model: "qwen-plus",
    quirks: { effort: "enable_thinking", schema: "json_object" } },
  { name: "sglang", url: "http://localhost:30000/v1", key: "SGLANG_API_KEY" },
  { name: "together", url: "https://api.together.xyz/v1", key: "TOGETHER_API_KEY",
    model: "meta-llama/Llama-3.3-70B-Instruct-Turbo" },
  { name: "vllm", url: "http://localhost:8000/v1", key: "VLLM_API_KEY" },
  { name: "xai", url: "https://api.x.ai/v1", key: "XAI_API_KEY", model: "grok-4",
    quirks: { max: LIMIT_FIELD, without: ["stop", "frequency_penalty", "presence_penalty"] } },
  { name: "zai", url: "https://api.z.ai/api/paas/v4", key: "ZAI_API_KEY", model: "glm-4.6",
    quirks: { echo: "reasoning_content", effort: "thinking", schema: "json_object" } },
];
