import { textOf, type Answer, type CallPart, type Message, type UserMessage } from './chat.ts';

/** A longer result is cut before the model reads it again. */
const maxResultCharacters = 8_000;

type ModelMessage = Readonly<Record<string, unknown>>;

/** A branch as a model reads it. It includes the calls of each answer, so that the model does not repeat them. */
export function toModelMessages(branch: readonly Message[], system: string | undefined): ModelMessage[] {
  const messages = branch.flatMap((message): ModelMessage[] =>
    message.role === 'user' ? [questionMessage(message)] : answerMessages(message),
  );
  return system === undefined || system.trim() === '' ? messages : [{ role: 'system', content: system }, ...messages];
}

function questionMessage({ text, attachments = [] }: UserMessage): ModelMessage {
  const pictures = attachments.flatMap((file) => (file.kind === 'picture' ? [{ type: 'image_url', image_url: { url: file.url } }] : []));
  return { role: 'user', content: pictures.length === 0 ? text : [...pictures, ...(text === '' ? [] : [{ type: 'text', text }])] };
}

/** The text files that are attached to the questions of a branch, in the gateway's format. */
export function toFiles(branch: readonly Message[]): { type: 'text'; name: string; content: string }[] {
  return branch.flatMap((message) =>
    message.role === 'user'
      ? (message.attachments ?? []).flatMap((file) =>
          file.kind === 'text' ? [{ type: 'text' as const, name: file.name, content: file.content }] : [],
        )
      : [],
  );
}

function answerMessages(answer: Answer): ModelMessage[] {
  // The model does not read calls that were made inside a preset.
  const calls = answer.parts.filter((part): part is CallPart => part.kind === 'call' && part.within === undefined && part.state === 'done');
  const text = textOf(answer);
  const called: ModelMessage = {
    role: 'assistant',
    content: null,
    tool_calls: calls.map(({ id, tool, args }) => ({
      id,
      type: 'function',
      function: { name: tool, arguments: JSON.stringify(args ?? {}) },
    })),
  };
  const results = calls.map(({ id, response }) => ({ role: 'tool', tool_call_id: id, content: asText(response) }));
  return [...(calls.length === 0 ? [] : [called, ...results]), ...(text === '' ? [] : [{ role: 'assistant', content: text }])];
}

function asText(response: unknown): string {
  const text = typeof response === 'string' ? response : JSON.stringify(response ?? null);
  return text.length > maxResultCharacters ? `${text.slice(0, maxResultCharacters)}…` : text;
}
