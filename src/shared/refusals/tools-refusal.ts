/** Error messages with which backends refuse tools. */
const noTools = [
  // Ollama, DeepSeek, Bedrock, LM Studio.
  /\b(?:does not|doesn't|do not|don't|cannot|can't) (?:currently |yet )?support (?:the use of )?(?:native )?(?:tools?|tool[- ](?:use|usage|calls?|calling)|functions?|function[- ]call(?:s|ing)?)\b(?! ?(?:choice|type|schema|parameter|name|result|message)s?\b)(?!_)/i,
  // OpenAI, Azure, DeepInfra, Groq, Mistral, Gemini.
  /(?<!parallel |strict |custom |multiple |several )\b(?:tools?|tool[- ](?:use|usage|calls?|calling)|(?:tool use with )?function[- ]call(?:s|ing)?|functions|tools param(?:eter)?)[`'"]? (?:is|are) (?:currently )?(?:unsupported|disabled|not (?:fully |currently |yet )?(?:supported|enabled|available))\b/i,
  // NVIDIA.
  /\b(?:tool|function)[- ](?:use|calling) has not been enabled\b/i,
  // llama.cpp before and since templates.
  /\bunsupported param(?:eter)?s?: ?[`'"]?tools\b/i,
  /\btools param requires --jinja\b/i,
  // vLLM, SGLang.
  /--enable-auto-tool-choice\b|--tool-call-parser\b/i,
  // OpenRouter.
  /\bno endpoints found that support tool use\b/i,
];

/** The part of a message that says that a model or server does not support tool calls at all; undefined if there is none. */
export function findToolsRefusal(message: string): string | undefined {
  const text = message.replaceAll('’', "'");
  for (const wording of noTools) {
    const found = wording.exec(text);
    // Positions in `text` are valid in `message`, because the replaced character has the same length.
    if (found !== null) return message.slice(found.index, found.index + found[0].length);
  }
  return undefined;
}
