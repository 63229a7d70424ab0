import type { ChatEvent, FinishReason, Usage } from '../../../core/chat/chat.ts';
import { CallerWarnings, modelThatAnswers } from '../../../core/chat/caller-warning.ts';
import { addUsage, noUsage } from '../../../core/chat/usage.ts';
import type { JsonObject, JsonValue } from '../../../shared/json/json.ts';
import { errorBody } from '../../errors/error-handler.ts';
import type { AnswerCollector, AnswerFormat, AnswerHead, StreamEncoder } from '../answers/answer-format.ts';
import { choiceOf } from '../answers/first-choice.ts';
import { serverSentEvents } from '../answers/server-sent-events.ts';

/** OpenAI's text completions and their chunks. `options`: whether the stream has the `usage`. */
export function completionFormat({ includeUsage }: JsonObject): AnswerFormat {
  return { stream: (head) => createEncoder(head, includeUsage === true), collect: createCollector };
}

function headOf({ runId, created, model }: AnswerHead): JsonObject {
  return { id: `cmpl-${runId}`, object: 'text_completion', created, model };
}

function createEncoder(head: AnswerHead, includeUsage: boolean): StreamEncoder {
  const prefixFor = (answering: AnswerHead): string => `data: ${JSON.stringify(headOf(answering)).slice(0, -1)}`;
  let prefix = prefixFor(head);
  const chunk = (fields: JsonObject): string => `${prefix},${JSON.stringify(fields).slice(1)}\n\n`;
  const choiceChunk = (index: number, fields: JsonObject, more: JsonObject = {}): string =>
    chunk({ choices: [{ text: '', index, logprobs: null, finish_reason: null, ...fields }], ...more });
  const warnings = new CallerWarnings();
  let usage: Usage | undefined;
  return {
    ...serverSentEvents,
    encode(event) {
      if (event.type === 'text') return choiceChunk(event.choice ?? 0, { text: event.text });
      if (event.type === 'finish') return choiceChunk(event.choice ?? 0, { finish_reason: toReason(event.reason) });
      if (event.type === 'usage') usage = addUsage(usage, event.usage);
      const logprobs = logprobsIn(event);
      if (logprobs !== undefined) return choiceChunk(choiceOf(event), { logprobs });
      if (event.type !== 'run-event') return '';
      const model = modelThatAnswers(event.event);
      if (model !== undefined) prefix = prefixFor({ ...head, model });
      const warning = warnings.add(event.event);
      return warning === undefined ? '' : choiceChunk(0, {}, { warnings: [{ ...warning }] });
    },
    end: () => `${includeUsage ? chunk({ choices: [], usage: usage ?? noUsage }) : ''}data: [DONE]\n\n`,
    failure: (error) => `data: ${JSON.stringify(errorBody(error))}\n\n`,
  };
}

interface Choice {
  text: string;
  reason: FinishReason;
  logprobs: JsonValue;
}

function createCollector(named: AnswerHead): AnswerCollector {
  let head = named;
  const choices = new Map<number, Choice>();
  const warnings = new CallerWarnings();
  let usage: Usage | undefined;
  const choiceAt = (index: number): Choice => {
    const choice = choices.get(index) ?? { text: '', reason: 'stop', logprobs: null };
    choices.set(index, choice);
    return choice;
  };
  return {
    add(event) {
      if (event.type === 'text') choiceAt(choiceOf(event)).text += event.text;
      else if (event.type === 'finish') choiceAt(choiceOf(event)).reason = event.reason;
      else if (event.type === 'usage') usage = addUsage(usage, event.usage);
      else if (event.type === 'run-event') {
        warnings.add(event.event);
        head = { ...head, model: modelThatAnswers(event.event) ?? head.model };
      }
      const logprobs = logprobsIn(event);
      if (logprobs !== undefined) choiceAt(choiceOf(event)).logprobs = logprobs;
    },
    body: () => ({
      ...headOf(head),
      choices: [...choices]
        .toSorted(([left], [right]) => left - right)
        .map(([index, { text, reason, logprobs }]) => ({ text, index, logprobs, finish_reason: toReason(reason) })),
      ...(usage !== undefined && { usage }),
      ...(warnings.list.length > 0 && { warnings: warnings.list.map((warning) => ({ ...warning })) }),
    }),
  };
}

function logprobsIn(event: ChatEvent): JsonValue | undefined {
  return event.type === 'extra' && event.level === 'choice' ? event.fields['logprobs'] : undefined;
}

function toReason(reason: FinishReason): string {
  return reason === 'tool_calls' ? 'stop' : reason;
}
