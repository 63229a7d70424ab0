import { jsonProblem } from '../shared/json/explain-json-fault.ts';
import { hasMoreValuesThan, isTextDeeperThan } from '../shared/json/json-depth.ts';
import { isContainer, isJsonObject, type JsonObject, type JsonValue } from '../shared/json/json.ts';
import { createSecretMask, type Secret } from '../shared/secrets/secret-mask.ts';
import { detachExactNumbers, type PlacedNumber } from './exact-numbers.ts';
import { losesDigits, parseForeign } from '../shared/json/parse-exactly.ts';
import { isNumber } from '../shared/json/exact-number.ts';

/** The source, and the limits on the parsed value: receiving it from the worker takes time for each part again. */
export interface ParseTask {
  source: string | Uint8Array;
  maxDepth: number;
  maxValues: number;
  /** Different field names. */
  maxFieldNames: number;
  /** Numbers directly in arrays, which do not count as values. */
  maxNumbers: number;
  /** What to do with a field `__proto__`, or `constructor` with a prototype. */
  prototypes: 'refuse' | 'remove';
  /**
   * Paths of documents: field names, with `*` for the entries of an array, such as `tool_servers.*.openapi`. Documents come back as JSON text, which
   * is cheap to receive, and do not count towards the limits.
   */
  documents: readonly string[];
  /** Redacted in the value. */
  secrets?: readonly Secret[];
}

/** `numbers`: the `ExactNumber`s of the value, which cannot be sent between threads. */
export type ParsedJson =
  | { type: 'value'; value: JsonValue; numbers?: PlacedNumber[] }
  | { type: 'invalid'; message: string }
  | { type: 'too_deep' }
  | TooMuch;
export interface TooMuch {
  type: 'too_much';
  /** What exceeded its limit. */
  of: 'values' | 'field names' | 'numbers';
}

/** All values, including documents and numbers; they take about 250 MB. */
const maxValuesInAll = 3_000_000;

/** The job of `parseJsonInWorker`. Never throws for invalid text. */
export function parseJsonJob(task: ParseTask): ParsedJson {
  const text = typeof task.source === 'string' ? task.source : new TextDecoder().decode(task.source);
  if (isTextDeeperThan(text, task.maxDepth)) return { type: 'too_deep' };
  // `JSON.parse` cannot be interrupted, and running out of memory in it ends the whole process.
  if (hasMoreValuesThan(text, maxValuesInAll)) return { type: 'too_much', of: 'values' };
  let value: JsonValue;
  try {
    value = parseForeign(text, task.prototypes);
  } catch (error) {
    return { type: 'invalid', message: jsonProblem(text, error) };
  }
  for (const path of task.documents) documentsToText(value, path.split('.'));
  const tooMuch = findTooMuch(value, task);
  if (tooMuch !== undefined) return tooMuch;
  const masked = createSecretMask(task.secrets ?? []).value(value);
  return losesDigits(text) ? { type: 'value', ...detachExactNumbers(masked) } : { type: 'value', value: masked };
}

function documentsToText(value: JsonValue | undefined, [name, ...rest]: readonly string[]): void {
  if (name === undefined) return;
  if (name === '*') {
    if (Array.isArray(value)) for (const entry of value) documentsToText(entry, rest);
    return;
  }
  if (!isJsonObject(value) || !Object.hasOwn(value, name)) return;
  if (rest.length > 0) documentsToText(value[name], rest);
  else if (isJsonObject(value[name])) value[name] = JSON.stringify(value[name]);
}

function findTooMuch(root: JsonValue, { maxValues, maxFieldNames, maxNumbers }: ParseTask): TooMuch | undefined {
  const names = new Set<string>();
  const waiting: (JsonValue[] | JsonObject)[] = [];
  let values = 0;
  let numbers = 0;
  const count = (value: JsonValue | undefined): void => {
    values += 1;
    if (isContainer(value)) waiting.push(value);
  };
  const countEntry = (entry: JsonValue): void => {
    if (isNumber(entry)) numbers += 1;
    else count(entry);
  };
  const countFields = (object: JsonObject): void => {
    for (const name in object) {
      names.add(name);
      count(object[name]);
    }
  };
  count(root);
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (Array.isArray(node)) node.forEach(countEntry);
    else countFields(node);
    if (values > maxValues) return { type: 'too_much', of: 'values' };
    if (names.size > maxFieldNames) return { type: 'too_much', of: 'field names' };
    if (numbers > maxNumbers) return { type: 'too_much', of: 'numbers' };
  }
  return undefined;
}
