import type { ToolSpec } from '../../core/tool.ts';
import { limits } from '../../core/limits.ts';
import { chooseCalls } from './choose-calls.ts';
import { splitName, toShape } from './function-shape.ts';
import type { FunctionShape, Parameter } from './function-shape.ts';
import { planTimeCalls } from './time-calls.ts';
import { isAboutTime } from './time-functions.ts';
import type { TimeFunctions } from './time-functions.ts';

/** Of functions about time, whose schemas tell which of them fits. */
const maxTimeFunctions = 10;
/** Functions without arguments run without a second look, and nobody who asks for the time wants one of these. */
const changesThings = /\b(?:add|cancel|clear|create|delete|remove|reset|save|set|start|stop|update|write)\b/iu;

const any: Parameter = { name: 'any', words: 'any', schema: {}, type: 'string', isRequired: true };
const shape: FunctionShape = { name: 'any', description: '', words: '', parameters: [any] };
/** A server that can answer whatever is asked about time. */
const wholeClock: TimeFunctions = {
  inZone: { shape, zone: any, format: undefined },
  utcNow: shape,
  localNow: shape,
  convert: { shape, moment: any, from: any, to: any },
  elapsed: { shape, start: any, end: any, unit: undefined },
  listZones: shape,
  parse: { shape, moment: any, zone: undefined },
};

/** Whether a selection is asked for names alone: so many functions are shown at once without their parameters only. */
export function asksForNames(specs: readonly ToolSpec[]): boolean {
  return specs.length > limits.selectedAtOnce && specs.every((spec) => toShape(spec).parameters.length === 0);
}

/** The functions whose parameters are worth seeing: those about time for a question about time, and the one that would be called otherwise. */
export function chooseNames({ question, specs, now }: { question: string; specs: readonly ToolSpec[]; now: number }): string[] {
  const isAskedForTime = planTimeCalls(question, wholeClock, now) !== undefined;
  const timed = isAskedForTime ? specs.filter(mayTellTime).slice(0, maxTimeFunctions) : [];
  const others = specs.filter((spec) => !timed.includes(spec));
  const called = chooseCalls({ question, specs: others, toolChoice: undefined, now });
  return [...timed, ...called].map(({ name }) => name);
}

function mayTellTime(spec: ToolSpec): boolean {
  return isAboutTime(toShape(spec)) && !changesThings.test(splitName(spec.name));
}
