import { signal } from '@preact/signals';
import type { Model } from '../../../api/api-types.ts';
import { textOf, type Answer, type Message } from './chat.ts';

/** The models of the gateway, once they are loaded. */
export const knownModels = signal<readonly Model[]>([]);

export function findModel(id: string | undefined): Model | undefined {
  return knownModels.value.find((model) => model.id === id);
}

/** The size of a model's context in tokens, if its backend says it. */
export function contextOf(model: Model | undefined): number | undefined {
  const details = { ...model, ...(model?.['ollama'] as object | undefined) } as Readonly<Record<string, unknown>>;
  const stated = ['context_length', 'max_model_len', 'n_ctx'].map((name) => details[name]).find((value) => typeof value === 'number');
  return typeof stated === 'number' && stated > 0 ? stated : undefined;
}

/** In US dollars. Undefined if the price of the model or the tokens of the answer are unknown. */
export function costOf({ model, usage }: Answer): number | undefined {
  const price = findModel(model)?.price;
  if (price === undefined || usage?.prompt_tokens === undefined) return undefined;
  return (usage.prompt_tokens * price.input + (usage.completion_tokens ?? 0) * price.output) / 1_000_000;
}

export interface ChatTotals {
  input: number;
  output: number;
  cost: number | undefined;
  /** Tokens that the next question has before it, as far as the last answer tells. */
  context: number | undefined;
}

/** The sums over the answers of a branch. */
export function totalsOf(branch: readonly Message[]): ChatTotals {
  const answers = branch.filter((message): message is Answer => message.role === 'assistant' && message.usage !== undefined);
  const costs = answers.map(costOf).filter((cost) => cost !== undefined);
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const last = answers.at(-1);
  // Each round of calls sends the context once more, so a sum over rounds says nothing about it.
  const isOneRound = last?.parts.every(({ kind }) => kind !== 'call') === true;
  return {
    input: sum(answers.map(({ usage }) => usage?.prompt_tokens ?? 0)),
    output: sum(answers.map(({ usage }) => usage?.completion_tokens ?? 0)),
    cost: costs.length === 0 ? undefined : sum(costs),
    context: isOneRound ? (last.usage?.prompt_tokens ?? 0) + (last.usage?.completion_tokens ?? 0) : undefined,
  };
}

/** The beginning of a conversation, from which a title can be made. */
export function excerptOf(question: string, answer: Answer, maxCharacters: number): string {
  return [`USER: ${question.slice(0, maxCharacters)}`, `ASSISTANT: ${textOf(answer).slice(0, maxCharacters)}`].join('\n');
}
