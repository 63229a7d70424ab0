import { isJsonObject } from '../../core/json.ts';
import type { JsonValue } from '../../core/json.ts';
import type { FollowUp, ToolOutcome } from '../../core/tool.ts';

const answerMark = Symbol.for('toolwharf.answer');

/** What `noReply` and `handoff` give: something for the runtime, beside or in place of a result. */
export interface Answered {
  readonly [answerMark]: true;
  readonly followUp: FollowUp;
  readonly result: unknown;
}

/** The work is done silently: the run ends without another turn of the model, unless another call of the round needs one. */
export function noReply(): Answered {
  return { [answerMark]: true, followUp: { type: 'no-reply' }, result: undefined };
}

/** The run goes on under another preset, which has the same conversation and, where there is one, the result. */
export function handoff(preset: string, result?: unknown): Answered {
  if (typeof preset !== 'string' || preset === '') throw new TypeError('handoff: name the preset, as in handoff("support").');
  return { [answerMark]: true, followUp: { type: 'handoff', preset }, result };
}

export function isAnswered(value: unknown): value is Answered {
  return typeof value === 'object' && value !== null && answerMark in value;
}

/** @throws Error for what is no JSON */
export function toOutcome(returned: unknown): Extract<ToolOutcome, { type: 'result' }> {
  if (!isAnswered(returned)) return { type: 'result', value: toJson(returned) };
  const { followUp, result } = returned;
  const silent = followUp.type === 'handoff' ? `The conversation goes on under "${followUp.preset}".` : '';
  return { type: 'result', value: result === undefined ? silent : toJson(result), followUp };
}

/** As JSON has it: what a function returned may change afterwards, and may be no plain object. */
export function toJson(value: unknown): JsonValue {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string' || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))) return value;
  const text: unknown = JSON.stringify(value);
  if (typeof text !== 'string')
    throw new TypeError(`the result is a ${typeof value}, which is no JSON; return text, a number, an object or a list`);
  return JSON.parse(text) as JsonValue;
}

/** Across a thread symbols are lost. */
export function toPlain(returned: unknown): { followUp?: FollowUp; value: JsonValue } {
  const { value, followUp } = toOutcome(returned);
  return { value, ...(followUp !== undefined && { followUp }) };
}

export function fromPlain(plain: unknown): unknown {
  if (!isJsonObject(plain)) return null;
  return plain['followUp'] === undefined ? plain['value'] : { [answerMark]: true, followUp: plain['followUp'], result: plain['value'] };
}
