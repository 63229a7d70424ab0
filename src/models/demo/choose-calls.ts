import type { JsonValue } from '../../core/json.ts';
import { isJsonObject, ownValue } from '../../core/json.ts';
import type { ToolSpec } from '../../core/tool.ts';
import { fillArguments } from './fill-arguments.ts';
import { splitName, toShape } from './function-shape.ts';
import type { FunctionShape } from './function-shape.ts';
import { meaningOf } from './question-words.ts';
import { planTimeCalls } from './time-calls.ts';
import type { PlannedCall } from './time-calls.ts';
import { findTimeFunctions } from './time-functions.ts';

export interface Choice {
  question: string;
  specs: readonly ToolSpec[];
  /** As in a request: `none`, `auto`, `required`, or a named function. */
  toolChoice: JsonValue | undefined;
  /** Milliseconds since 1970, for times of day and "since". */
  now: number;
}

/** Questions are read this far; rules over more text would only burn time. */
const longestQuestion = 8_000;

/** The calls that fit a question, by rules: questions about time first, then the function with most words in common. */
export function chooseCalls({ question, specs, toolChoice, now }: Choice): PlannedCall[] {
  const text = question.slice(0, longestQuestion);
  const named = namedFunction(toolChoice);
  const shapes = specs.filter((spec) => named === undefined || spec.name === named).map(toShape);
  const isForced = toolChoice === 'required' || named !== undefined;
  const [first] = shapes;
  if (toolChoice === 'none' || first === undefined) return [];
  const timed = planTimeCalls(text, findTimeFunctions(shapes), now);
  if (timed !== undefined && (timed.length > 0 || !isForced)) return timed;
  const ranked = shapes.map((shape) => ({ shape, score: scoreOf(shape, text) })).toSorted((one, other) => other.score - one.score);
  for (const { shape, score } of ranked) {
    const filled = fillArguments(shape, text, now);
    if (score >= leastScore && filled.isComplete) return [{ name: shape.name, args: filled.args }];
  }
  if (!isForced) return [];
  const best = ranked[0]?.shape ?? first;
  return [{ name: best.name, args: fillArguments(best, text, now).args }];
}

/** One word of the name, or two of the description. */
const leastScore = 2;

function scoreOf(shape: FunctionShape, text: string): number {
  const asked = meaningOf(text);
  const name = meaningOf(splitName(shape.name));
  const values = shape.parameters
    .flatMap((parameter) => ownValue(parameter.schema, 'enum') ?? [])
    .filter((value) => typeof value === 'string');
  const others = meaningOf([shape.description, ...values].join(' '));
  const isWritten = text.includes(shape.name);
  let score = isWritten ? 10 : 0;
  for (const word of asked) score += name.has(word) ? 2 : others.has(word) ? 1 : 0;
  return score;
}

function namedFunction(toolChoice: JsonValue | undefined): string | undefined {
  const inner = isJsonObject(toolChoice) ? (ownValue(toolChoice, 'function') ?? toolChoice) : undefined;
  const name = isJsonObject(inner) ? ownValue(inner, 'name') : undefined;
  return typeof name === 'string' ? name : undefined;
}
