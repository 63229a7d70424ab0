import type { FunctionShape, Parameter } from './function-shape.ts';
import { isMomentParameter, isZoneParameter, splitName } from './function-shape.ts';

/** The functions about time among those on offer, known by what they look like, so that other names and languages of names work too. */
export interface TimeFunctions {
  /** Now, in a zone: one parameter for it and nothing else that must be given (a format aside). */
  inZone?: { shape: FunctionShape; zone: Parameter; format: Parameter | undefined };
  utcNow?: FunctionShape;
  localNow?: FunctionShape;
  convert?: { shape: FunctionShape; moment: Parameter; from: Parameter; to: Parameter };
  elapsed?: { shape: FunctionShape; start: Parameter; end: Parameter; unit: Parameter | undefined };
  listZones?: FunctionShape;
  parse?: { shape: FunctionShape; moment: Parameter; zone: Parameter | undefined };
}

export function findTimeFunctions(shapes: readonly FunctionShape[]): TimeFunctions {
  const found: TimeFunctions = {};
  for (const shape of shapes) {
    const kind = isAboutTime(shape) ? timeFunctionOf(shape) : {};
    // The first of each kind, in the order of the offer.
    Object.assign(found, { ...kind, ...found });
  }
  return found;
}

export function isAboutTime({ words }: FunctionShape): boolean {
  return /\b(?:times?|timestamps?|time ?zones?|clock|date ?times?|elapsed|dates?|utc|duration|timezone)\b|时间|時間|时区|時區|zeit|uhrzeit/u.test(
    words,
  );
}

function timeFunctionOf(shape: FunctionShape): TimeFunctions {
  const { parameters, words } = shape;
  const zones = parameters.filter(isZoneParameter);
  const to = zones.find((parameter) => says(parameter, /\b(?:to|target|destination|dest|new)\b/u));
  const from = zones.find((parameter) => parameter !== to && says(parameter, /\b(?:from|source|src|original|origin|old)\b/u));
  const moment = parameters.find(isMomentParameter);
  if (from !== undefined && to !== undefined) {
    const value = moment ?? parameters.find((parameter) => parameter !== from && parameter !== to && parameter.type === 'string');
    return value === undefined ? {} : { convert: { shape, moment: value, from, to } };
  }
  const start = parameters.find((parameter) => says(parameter, /\b(?:start|begin|beginning|since|from|first|earlier)\b/u));
  const end = parameters.find((parameter) => parameter !== start && says(parameter, /\b(?:end|stop|until|to|second|later|finish)\b/u));
  if (start !== undefined && end !== undefined && /elapsed|differ|between|duration|interval|until|since/u.test(words)) {
    return { elapsed: { shape, start, end, unit: parameters.find((parameter) => says(parameter, /\bunits?\b/u)) } };
  }
  if (moment?.isRequired === true) {
    const isAlone = parameters.every((parameter) => parameter === moment || !parameter.isRequired);
    return isAlone && /pars|normali|interpret|standardi/u.test(words) ? { parse: { shape, moment, zone: zones[0] } } : {};
  }
  return functionOfNow(shape, zones[0]);
}

function functionOfNow(shape: FunctionShape, zone: Parameter | undefined): TimeFunctions {
  const { parameters, words } = shape;
  const format = parameters.find((parameter) => says(parameter, /\bformat\b/u));
  if (zone !== undefined) {
    const isEnough = parameters.every((parameter) => parameter === zone || parameter === format || !parameter.isRequired);
    return isEnough && /\b(?:time|clock|date ?time)\b|时间|時間|zeit/u.test(words) ? { inZone: { shape, zone, format } } : {};
  }
  if (parameters.some((parameter) => parameter.isRequired)) return {};
  if (/time ?zones/u.test(words) && /\b(?:list|all|valid|available|supported|known)\b/u.test(words)) return { listZones: shape };
  // A function that lists today's meetings speaks of time too, but not in its name.
  if (!/\b(?:time|clock|now|utc|local|date)\b/u.test(splitName(shape.name).toLowerCase())) return {};
  if (/\butc\b/u.test(words)) return { utcNow: shape };
  return /\b(?:local|current|now)\b/u.test(words) ? { localNow: shape } : {};
}

/** A parameter's own name counts; its description describes too much. */
function says(parameter: Parameter, word: RegExp): boolean {
  return word.test(splitName(parameter.name).toLowerCase());
}
