/** The role, separators and template text around each message. */
const tokensPerMessage = 8;
/** Vision models use between 250 and 1,600 tokens per image. */
const tokensPerImage = 1_024;

/** The part of a message that is counted. */
interface CountedMessage {
  readonly role: string;
  readonly content: string | readonly { readonly type: string; readonly text?: unknown }[] | null;
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: string }[];
}

/** More characters than these are not read one by one but in samples: reading a million takes a few milliseconds. */
const readCharacters = 1_000_000;

/** A generous estimate of the tokens of messages and functions. Images are counted by number, not by the length of their base64. */
export function estimateTokens({ messages, tools }: { messages: readonly CountedMessage[]; tools: readonly unknown[] }): number {
  const texts = tools.length === 0 ? [] : [JSON.stringify(tools)];
  let tokens = 0;
  for (const message of messages) tokens += tokensPerMessage + collectTexts(message, texts);
  const characters = texts.reduce((sum, text) => sum + text.length, 0);
  const step = Math.max(1, Math.ceil(characters / readCharacters));
  for (const text of texts) tokens += textTokens(text, step);
  return Math.ceil(tokens);
}

/** Returns the tokens of everything else. */
function collectTexts({ content, toolCalls = [] }: CountedMessage, texts: string[]): number {
  let tokens = 0;
  if (typeof content === 'string') texts.push(content);
  else
    for (const { type, text } of content ?? []) {
      if (type !== 'text') tokens += tokensPerImage;
      else if (typeof text === 'string') texts.push(text);
    }
  for (const call of toolCalls) texts.push(call.name, call.arguments);
  return tokens;
}

/** ASCII: 3.5 characters per token; other alphabets: 2; ideographs, kana, hangul and everything beyond: 1. `step`: looks at one of so many characters. */
export function textTokens(text: string, step = 1): number {
  let ascii = 0;
  let alphabetic = 0;
  for (let index = 0; index < text.length; index += step) {
    const code = text.charCodeAt(index);
    if (code < 0x80) ascii++;
    else if (code < 0x2e80) alphabetic++;
  }
  const read = Math.ceil(text.length / step);
  const tokens = ascii / 3.5 + alphabetic / 2 + (read - ascii - alphabetic);
  return read === 0 ? 0 : (tokens / read) * text.length;
}
