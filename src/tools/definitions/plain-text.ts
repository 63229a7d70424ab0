import type { JsonValue } from '../../shared/json/json.ts';

/** OpenAI refuses longer descriptions of functions, and no model reads a page about one argument. */
export const descriptionCharacters = 1_024;
/** Only the beginning of a text is searched for words: every function may refer to the same text. */
const searchedCharacters = 4_096;
/** Characters that people do not see but models read: control characters, bidirectional marks, zero-width spaces, Unicode tags. */
// eslint-disable-next-line no-control-regex -- they are what has to go
const unseen = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/gu;

/**
 * What opens and ends turns, thoughts and calls in the templates of well-known models (ChatML, Llama, Mistral, Gemma, DeepSeek, GLM, Qwen). Tokenizers
 * take it for these anywhere, so a description that holds it could end its own message and begin another one. That a model repeats a definition does not
 * make a call of it either way: see `ReadTexts` in `chat/modes/native`.
 */
const specialTokens = new RegExp(
  [
    // <|im_start|>, <|eot_id|>, <｜tool▁calls▁begin｜>
    '<[|｜][^<>|｜\\n]{1,40}[|｜]>',
    '</?(?:[a-z]{1,20}:)?(?:tool_calls?|tool_response|tool_use|function_calls?|arg_key|arg_value|invoke|think|tools)(?=[\\s>/])',
    '</?(?:function|parameter)=',
    '</?(?:s|bos|eos|pad|unk|sop|start_of_turn|end_of_turn|start_of_image)>',
    '<</?SYS>>',
    '\\[/?(?:INST|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS|SYSTEM_PROMPT|TOOL_CONTENT|ARGS|THINK|gMASK)\\]',
  ].join('|'),
  'gi',
);

/** A text without what people do not see and models read. */
export function withoutUnseen(text: string): string {
  return text.replaceAll(unseen, '');
}

/** Whether there is a text that says something. */
export function hasWords(text: JsonValue | undefined): text is string {
  return typeof text === 'string' && text.slice(0, searchedCharacters).trim() !== '';
}

/**
 * A text without what only a page needs: HTML tags, the addresses of links, fences, empty lines, indentation. Lists keep their lines.
 * What is not seen goes too: who reads a report must read what the model reads; and nothing stays that a model's template gives a meaning. Nothing of a comparison (`a < b`) or of a placeholder (`<name>`) is taken for a tag.
 */
export function plainText(text: string): string {
  const plain = text
    .slice(0, searchedCharacters)
    .replaceAll(unseen, '')
    .replaceAll(
      /<\/?(?:a|b|br|code|div|em|h[1-6]|hr|i|img|li|ol|p|pre|small|span|strong|sub|sup|table|tbody|td|th|thead|tr|u|ul)(?:\s[^<>]{0,500})?\/?>/gi,
      ' ',
    )
    .replaceAll(/!?\[([^[\]]{1,300})\]\((?:[^()\s]|\([^()\s]{0,100}\)){1,1000}(?:\s"[^"\n]{0,200}")?\)/g, '$1')
    .replaceAll(/^[ \t]*```.{0,40}$/gm, '')
    .replaceAll(/\*\*([^*\n]{1,300})\*\*/g, '$1')
    .replaceAll(/[ \t\u00a0]+/g, ' ')
    .replaceAll(/ ?\r?\n\s*(?![-*+\d|])/g, ' ')
    .replaceAll(/\s*\n\s*/g, '\n')
    .trim();
  // Last, because what was taken out may have stood within one.
  return stripSpecialTokens(plain);
}

/** Cut at a whole character, with a mark. */
export function shortened(text: string, maxCharacters: number = descriptionCharacters): string {
  const trimmed = text.slice(0, Math.max(searchedCharacters, maxCharacters * 2)).trim();
  if (trimmed.length <= maxCharacters) return trimmed;
  return `${trimmed
    .slice(0, maxCharacters - 1)
    .toWellFormed()
    .replace(/\uFFFD$/u, '')}…`;
}

/** As many whole sentences as fit, if they fill more than half of the room; else as `shortened`. */
export function firstSentences(text: string, maxCharacters: number = descriptionCharacters): string {
  if (text.length <= maxCharacters) return text.trim();
  const room = text.slice(0, maxCharacters);
  const end = Math.max(...['. ', '.\n', '\n', '; '].map((mark) => room.lastIndexOf(mark)));
  return end > maxCharacters / 2 ? `${room.slice(0, end + 1).trim()} …` : shortened(text, maxCharacters);
}

/** The same text with a space within each special token: a reader loses nothing, and a tokenizer finds plain characters. */
export function stripSpecialTokens(text: string): string {
  return text.replaceAll(specialTokens, (token) => `${token.slice(0, 1)} ${token.slice(1)}`);
}
