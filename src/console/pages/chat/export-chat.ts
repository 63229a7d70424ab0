import { branchOf, type Chat, type Message, type AnswerPart } from './state/chat.ts';

/** Saves the visible branch as a Markdown file. */
export function saveAsMarkdown(chat: Chat): void {
  const url = URL.createObjectURL(new Blob([toMarkdown(chat)], { type: 'text/markdown' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `${chat.title.replaceAll(/[^\p{L}\p{N} ._-]+/gu, ' ').trim() || 'chat'}.md`;
  link.click();
  URL.revokeObjectURL(url);
}

function toMarkdown(chat: Chat): string {
  return [`# ${chat.title}`, ...branchOf(chat).flatMap(messageLines)].join('\n\n').concat('\n');
}

function messageLines(message: Message): string[] {
  if (message.role === 'user')
    return ['## Question', ...(message.attachments ?? []).map(({ name }) => `Attached: ${name}`), message.text].filter(
      (line) => line !== '',
    );
  const { model, parts, error } = message;
  return [
    `## Answer${model === undefined ? '' : ` from ${model}`}`,
    ...parts.flatMap(partLines),
    ...(error === undefined ? [] : [`*${error.message}*`]),
  ];
}

/** Reasoning is not part of the answer. */
function partLines(part: AnswerPart): string[] {
  if (part.kind === 'text') return [part.text];
  if (part.kind === 'reasoning') return [];
  const { tool, args, response, error } = part;
  return [
    `Called \`${tool}\` with:`,
    fenced(args ?? {}),
    ...(response === undefined ? [] : ['Result:', fenced(response)]),
    ...(error === undefined ? [] : [`Error: ${error.message}`]),
  ];
}

/** The fence is longer than any fence in the text. */
function fenced(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${typeof value === 'string' ? '' : 'json'}\n${text}\n${fence}`;
}
