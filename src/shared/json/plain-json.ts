import { ExactNumber, hasJavaScriptNumber, isWhole } from './exact-number.ts';
import { isContainer, isJsonObject, type JsonValue, type PlainJsonValue } from './json.ts';

/**
 * A copy for code of the operator: a whole number beyond those of JavaScript becomes the text of its digits, one with a fraction the nearest
 * number, whose further digits are no identity.
 */
export function toPlainJson(value: JsonValue): PlainJsonValue {
  if (value instanceof ExactNumber) return toPlainNumber(value);
  if (Array.isArray(value)) return value.map(toPlainJson);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, child === undefined ? child : toPlainJson(child)]));
}

function toPlainNumber(number: ExactNumber): string | number {
  return isWhole(number) && !hasJavaScriptNumber(number) ? number.source : Number(number);
}

/** What such code returned, with the numbers of `given` wherever it returned them as it got them from `toPlainJson`. */
export function withNumbersOf(given: JsonValue | undefined, returned: JsonValue): JsonValue {
  if (given instanceof ExactNumber) return toPlainNumber(given) === returned ? given : returned;
  if (!isContainer(given) || !isContainer(returned)) return returned;
  if (Array.isArray(given)) return Array.isArray(returned) ? returned.map((entry, index) => withNumbersOf(given[index], entry)) : returned;
  if (Array.isArray(returned)) return returned;
  const entries = Object.entries(returned).map(([key, child]): [string, JsonValue | undefined] => {
    const before = Object.hasOwn(given, key) ? given[key] : undefined;
    return [key, child === undefined ? child : withNumbersOf(before, child)];
  });
  return Object.fromEntries(entries);
}
