import { call } from '../../../api/request.ts';
import type { Answer } from './chat.ts';
import { excerptOf, findModel } from './models.ts';

/** Characters of the question and of the answer that the title is made from. */
const maxExcerpt = 2_000;
const maxCharacters = 80;

/** A title by the task model of the gateway. Undefined if there is none, or it fails: the first words of the question are a title, too. */
export async function writeTitle(question: string, answer: Answer): Promise<string | undefined> {
  const model = findModel(answer.model)?.task_model;
  if (model === undefined) return undefined;
  const body = { model, messages: [{ role: 'user', content: promptFor(excerptOf(question, answer, maxExcerpt)) }], tool_ids: [] };
  const completion: unknown = await call('POST /v1/chat/completions', { body: body as never }).catch(() => undefined);
  const [choice] = ((completion as { choices?: unknown[] } | undefined)?.choices ?? []) as { message?: { content?: unknown } }[];
  return typeof choice?.message?.content === 'string' ? toTitle(choice.message.content) : undefined;
}

/** In the form of hidden tasks, which are offered no functions. */
function promptFor(excerpt: string): string {
  return `### Task:
Write a title of 2 to 6 words for this conversation, in its language. Answer with the title only, without quotes.
### Chat History:
<chat_history>
${excerpt}
</chat_history>`;
}

/** The first line with something in it, without quotes and marks around it. */
export function toTitle(text: string): string | undefined {
  const line = text
    .replaceAll(/<think>[^]*?<\/think>/g, '')
    .split('\n')
    .map((part) => part.replaceAll(/^[\s#*"'“”„«»`]+|[\s*"'“”„«»`.]+$/gu, '').replace(/^Title:\s*/i, ''))
    .find((part) => part !== '');
  return line === undefined ? undefined : line.length > maxCharacters ? `${line.slice(0, maxCharacters)}…` : line;
}
