/** The role, separators and template text around each message. */
const tokensPerMessage = 8;
/** Vision models use between 250 and 1,600 tokens per image. */
const tokensPerImage = 1_024;

/** The part of a message that is counted. */
export interface CountedMessage {
  readonly role: string;
  readonly content: string | readonly { readonly type: string; readonly text?: unknown }[] | null;
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: string }[];
}

/** A generous estimate of the tokens of messages and functions. Images are counted by number, not by the length of their base64. */
export function estimateTokens({ messages, tools }: { messages: readonly CountedMessage[]; tools: readonly unknown[] }): number {
  let tokens = tools.length === 0 ? 0 : textTokens(JSON.stringify(tools));
  for (const message of messages) tokens += tokensPerMessage + messageTokens(message);
  return Math.ceil(tokens);
}

function messageTokens({ content, toolCalls = [] }: CountedMessage): number {
  let tokens = typeof content === 'string' ? textTokens(content) : 0;
  if (Array.isArray(content)) for (const part of content) tokens += partTokens(part);
  for (const call of toolCalls) tokens += textTokens(call.name) + textTokens(call.arguments);
  return tokens;
}

function partTokens({ type, text }: { readonly type: string; readonly text?: unknown }): number {
  if (type !== 'text') return tokensPerImage;
  return typeof text === 'string' ? textTokens(text) : 0;
}

/** ASCII: 3.5 characters per token; other alphabets: 2; ideographs, kana, hangul and everything beyond: 1. */
export function textTokens(text: string): number {
  let ascii = 0;
  let alphabetic = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < 0x80) ascii++;
    else if (code < 0x2e80) alphabetic++;
  }
  return ascii / 3.5 + alphabetic / 2 + (text.length - ascii - alphabetic);
}
