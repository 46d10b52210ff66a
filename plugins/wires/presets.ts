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
  { name: "anthropic", wire: "anthropic", url: "https://api.anthropic.com", key: "ANTHROPIC_API_KEY", model: "claude-sonnet-4-5" },
  { name: "azure", wire: "chat", url: "", key: "AZURE_OPENAI_API_KEY", address: "AZURE_OPENAI_ENDPOINT", quirks: { ...OPENAI_QUIRKS, auth: "api-key" } },
  { name: "cerebras", wire: "chat", url: "https://api.cerebras.ai/v1", key: "CEREBRAS_API_KEY", model: "gpt-oss-120b",
    quirks: { max: LIMIT_FIELD, echo: "reasoning", without: ["frequency_penalty", "presence_penalty", "logit_bias", "service_tier"] } },
  { name: "deepseek", wire: "chat", url: "https://api.deepseek.com", key: "DEEPSEEK_API_KEY", model: "deepseek-chat",
    quirks: { max: "max_tokens", echo: "reasoning_content", effort: "thinking", schema: "json_object", without: ["seed"] } },
  { name: "fireworks", wire: "chat", url: "https://api.fireworks.ai/inference/v1", key: "FIREWORKS_API_KEY",
    model: "accounts/fireworks/models/gpt-oss-120b", quirks: { max: "max_tokens" } },
  { name: "gemini", wire: "gemini", url: "https://generativelanguage.googleapis.com/v1beta", key: "GEMINI_API_KEY", model: "gemini-2.5-flash" },
  { name: "github", wire: "chat", url: "https://models.github.ai/inference", key: "GITHUB_TOKEN", model: "openai/gpt-4o-mini", named: true,
    quirks: { max: "max_tokens", models: "https://models.github.ai/catalog/models" } },
  { name: "groq", wire: "chat", url: "https://api.groq.com/openai/v1", key: "GROQ_API_KEY", model: "llama-3.3-70b-versatile",
    quirks: { max: LIMIT_FIELD } },
  { name: "huggingface", wire: "chat", url: "https://router.huggingface.co/v1", key: "HF_TOKEN", model: "openai/gpt-oss-120b", named: true,
    quirks: { max: "max_tokens" } },
  { name: "llamacpp", wire: "chat", url: "http://localhost:8080/v1", key: "LLAMA_API_KEY", quirks: { max: "max_tokens" } },
  { name: "lmstudio", wire: "chat", url: "http://localhost:1234/v1", key: "LMSTUDIO_API_KEY", quirks: { max: "max_tokens" } },
  { name: "mistral", wire: "chat", url: "https://api.mistral.ai/v1", key: "MISTRAL_API_KEY", model: "mistral-large-latest",
    quirks: { max: "max_tokens", echo: "parts", effort: "high", without: ["stream_options"], between: true, ids: /^[A-Za-z0-9]{9}$/ } },
  { name: "moonshot", wire: "chat", url: "https://api.moonshot.ai/v1", key: "MOONSHOT_API_KEY", model: "kimi-latest",
    quirks: { max: "max_tokens", echo: "reasoning_content", effort: "thinking", schema: "json_object" } },
  { name: "nvidia", wire: "chat", url: "https://integrate.api.nvidia.com/v1", key: "NVIDIA_API_KEY", model: "meta/llama-3.3-70b-instruct",
    quirks: { max: "max_tokens" } },
  { name: "openai", wire: "chat", url: "https://api.openai.com/v1", key: "OPENAI_API_KEY", address: "OPENAI_BASE_URL", model: "gpt-4o-mini",
    is: "default", quirks: { ...OPENAI_QUIRKS, responses: REASONING } },
  { name: "openrouter", wire: "chat", url: "https://openrouter.ai/api/v1", key: "OPENROUTER_API_KEY", model: "openrouter/auto",
    quirks: { max: "max_tokens", echo: "reasoning_details", effort: "reasoning" } },
  { name: "perplexity", wire: "chat", url: "https://api.perplexity.ai", key: "PERPLEXITY_API_KEY", model: "sonar-pro",
    quirks: { max: "max_tokens", without: ["stream_options"], tools: false,
      models: ["sonar", "sonar-pro", "sonar-reasoning-pro", "sonar-deep-research"] } },
  { name: "qwen", wire: "chat", url: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", key: "DASHSCOPE_API_KEY", model: "qwen-plus",
    quirks: { max: "max_tokens", effort: "enable_thinking", schema: "json_object" } },
  { name: "sglang", wire: "chat", url: "http://localhost:30000/v1", key: "SGLANG_API_KEY", quirks: { max: "max_tokens" } },
  { name: "together", wire: "chat", url: "https://api.together.xyz/v1", key: "TOGETHER_API_KEY",
    model: "meta-llama/Llama-3.3-70B-Instruct-Turbo", quirks: { max: "max_tokens" } },
  { name: "vllm", wire: "chat", url: "http://localhost:8000/v1", key: "VLLM_API_KEY", quirks: { max: "max_tokens" } },
  { name: "xai", wire: "chat", url: "https://api.x.ai/v1", key: "XAI_API_KEY", model: "grok-4",
    quirks: { max: LIMIT_FIELD, without: ["stop", "frequency_penalty", "presence_penalty"] } },
  { name: "zai", wire: "chat", url: "https://api.z.ai/api/paas/v4", key: "ZAI_API_KEY", model: "glm-4.6",
    quirks: { max: "max_tokens", echo: "reasoning_content", effort: "thinking", schema: "json_object" } },
];
