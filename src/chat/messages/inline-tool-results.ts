import { textOf, type AssistantMessage, type ChatMessage, type MessageContent, type ToolMessage } from '../../core/chat/chat.ts';

/**
 * Converts a conversation for a model without a tool role: calls are removed, and each result is appended to the preceding user message after a blank
 * line, as ``Tool `<name>` Output: <result>`` (Open WebUI's wording).
 */
export function inlineToolResults(messages: readonly ChatMessage[]): ChatMessage[] {
  const names = calledNames(messages);
  const folded: ChatMessage[] = [];
  for (const message of messages) {
    if (message.role === 'tool') appendToLastUser(folded, outputOf(message, names));
    else if (message.role === 'assistant' && message.toolCalls.length > 0) {
      const { said, ...others } = message;
      const text = ownText(message);
      if (text !== '') folded.push({ ...others, ...(said !== undefined && { content: text }), toolCalls: [] });
      if (said !== undefined) appendToLastUser(folded, `\n\n${saidMeanwhile(said)}`);
    } else folded.push(message);
  }
  return folded;
}

/** The text of the model in a message with calls, without that of functions. */
export function ownText({ content, said = '' }: AssistantMessage): string {
  const text = textOf(content);
  return said === '' ? text : text.slice(0, -said.length).trimEnd();
}

/** Tells a model without a tool role what functions have said to the user. */
export function saidMeanwhile(said: string): string {
  return `The user has been told meanwhile: ${said}`;
}

function calledNames(messages: readonly ChatMessage[]): Map<string, string> {
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? message.toolCalls : []));
  return new Map(calls.map((call) => [call.id, call.name]));
}

function outputOf(message: ToolMessage, names: ReadonlyMap<string, string>): string {
  const name = message.label ?? message.name ?? names.get(message.toolCallId) ?? message.toolCallId;
  return `\n\nTool \`${name}\` Output: ${withoutOutputMarks(textOf(message.content))}`;
}

/**
 * Prevents a result from imitating the result of another function. White space is matched within a line only, because a text may have a million
 * lines.
 */
function withoutOutputMarks(text: string): string {
  return text.replaceAll(/^(?=[^\S\r\n\u2028\u2029]*Tool `[^`\n]{1,300}` Output:)/gm, '> ');
}

/** Appends to the last user message, or adds one. Changes the list in place. */
export function appendToLastUser(messages: ChatMessage[], text: string): void {
  const index = messages.findLastIndex((message) => message.role === 'user');
  const user = messages[index];
  if (user === undefined) messages.push({ role: 'user', content: text.trimStart() });
  else if (user.role === 'user') messages[index] = { ...user, content: appendTo(user.content, text) };
}

/** Appends to the last text part, so that images keep their position. */
export function appendTo(content: MessageContent, text: string): MessageContent {
  if (typeof content === 'string') return content + text;
  const index = content.findLastIndex((part) => part.type === 'text');
  const part = content[index];
  if (part === undefined) return [...content, { type: 'text', text: text.trimStart() }];
  return content.with(index, { ...part, type: 'text', text: `${typeof part.text === 'string' ? part.text : ''}${text}` });
}
