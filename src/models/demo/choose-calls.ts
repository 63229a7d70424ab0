import type { JsonValue } from '../../shared/json.ts';
import { isJsonObject, ownValue } from '../../shared/json.ts';
import type { ToolSpec } from '../../core/tool.ts';
import { fillArguments, readMaterial } from './fill-arguments.ts';
import { splitName, toShape } from './function-shape.ts';
import type { FunctionShape } from './function-shape.ts';
import { meaningOf } from './question-words.ts';
import { planTimeCalls } from './time-calls.ts';
import type { PlannedCall } from './time-calls.ts';
import { findTimeFunctions } from './time-functions.ts';
import type { TimeFunctions } from './time-functions.ts';

export interface Choice {
  question: string;
  specs: readonly ToolSpec[];
  /** As in a request: `none`, `auto`, `required`, or a named function. */
  toolChoice: JsonValue | undefined;
  /** Milliseconds since 1970, for times of day and "since". */
  now: number;
}

/** Questions are read this far; rules over more text would only burn time. */
const longestQuestion = 4_000;

/** The calls that fit a question, by rules: questions about time first, then the function with most words in common. */
export function chooseCalls({ question, specs, toolChoice, now }: Choice): PlannedCall[] {
  // Single spaces, because rules that trim would be slow over long runs of them.
  const text = question.slice(0, longestQuestion).replaceAll(/\s+/gu, ' ').trim();
  const named = namedFunction(toolChoice);
  const shapes = specs.filter((spec) => named === undefined || spec.name === named).map(toShape);
  const isForced = toolChoice === 'required' || named !== undefined;
  const [first] = shapes;
  if (toolChoice === 'none' || first === undefined) return [];
  const timeFunctions = findTimeFunctions(shapes);
  const timed = planTimeCalls(text, timeFunctions, now);
  if (timed !== undefined && (timed.length > 0 || !isForced)) return timed;
  const material = readMaterial(text, now);
  const asked = meaningOf(text);
  const taken = new Set(shapesOf(timeFunctions));
  const ranked = shapes
    // The rules for time have said no; only the function's very name in the question outweighs them.
    .filter((shape) => isForced || !taken.has(shape) || text.includes(shape.name))
    .map((shape) => ({ shape, score: scoreOf(shape, asked) + (text.includes(shape.name) ? 10 : 0) }))
    .toSorted((one, other) => other.score - one.score);
  for (const { shape, score } of ranked) {
    if (score < leastScore) break;
    const filled = fillArguments(shape, material);
    if (filled.isComplete) return [{ name: shape.name, args: filled.args }];
  }
  if (!isForced) return [];
  const best = ranked[0]?.shape ?? first;
  return [{ name: best.name, args: fillArguments(best, material).args }];
}

function shapesOf(functions: TimeFunctions): FunctionShape[] {
  return Object.values(functions).map((entry: FunctionShape | { shape: FunctionShape }) => ('shape' in entry ? entry.shape : entry));
}

/** One word of the name, or two of the description. */
const leastScore = 2;

function scoreOf(shape: FunctionShape, asked: ReadonlySet<string>): number {
  const name = meaningOf(splitName(shape.name));
  const values = shape.parameters
    .flatMap((parameter) => ownValue(parameter.schema, 'enum') ?? [])
    .filter((value) => typeof value === 'string');
  const others = meaningOf([shape.description, ...values].join(' '));
  let score = 0;
  for (const word of asked) score += name.has(word) ? 2 : others.has(word) ? 1 : 0;
  return score;
}

function namedFunction(toolChoice: JsonValue | undefined): string | undefined {
  const inner = isJsonObject(toolChoice) ? (ownValue(toolChoice, 'function') ?? toolChoice) : undefined;
  const name = isJsonObject(inner) ? ownValue(inner, 'name') : undefined;
  return typeof name === 'string' ? name : undefined;
}
