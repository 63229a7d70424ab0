/** Codes and types of OpenAI, Azure, Groq and LiteLLM, and of llama.cpp. */
const overflowCode = /context_length_exceeded|exceed_context_size|ContextWindowExceeded/u;

/** What backends without such a code say of a request that is too long for the model. */
const wordings = [
  // OpenAI, DeepSeek, vLLM, OpenRouter, Mistral.
  /\bmaximum context length\b/iu,
  // OpenAI's Responses, llama.cpp, Ollama.
  /\bexceeds? the (?:model's |available |maximum )?context (?:size|length|window)\b/iu,
  // SGLang, LM Studio.
  /\b(?:longer|larger|greater) than the (?:model's |maximum )?context (?:size|length|window)\b/iu,
  // Anthropic, Bedrock.
  /\b(?:prompt|input) is too long\b/iu,
  /\bexceed context limit\b/iu,
  // Gemini.
  /\binput token count .{0,40}exceeds the maximum number of tokens\b/iu,
];

/** Whether a backend's error says that the conversation is too long for the model. `words`: its code and type. */
export function isContextOverflow(message: string, words: string): boolean {
  return overflowCode.test(words) || wordings.some((wording) => wording.test(message));
}
