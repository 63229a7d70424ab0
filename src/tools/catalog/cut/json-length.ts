import { isContainer, type JsonValue } from '../../../shared/json/json.ts';

/**
 * The length of a value as JSON; Infinity if it is longer than `max` characters. Stops there, so the work depends on `max` and not on the size of the
 * value. The value must not be nested deeper than a schema may be.
 */
export function lengthWithin(value: JsonValue, max: number): number {
  if (typeof value === 'string') return value.length + 2 > max ? Infinity : within(JSON.stringify(value).length, max);
  if (!isContainer(value)) return within(String(value).length, max);
  let length = 2;
  let isFirst = true;
  const add = (key: string | undefined, child: JsonValue): void => {
    length += (isFirst ? 0 : 1) + (key === undefined ? 0 : 1 + lengthWithin(key, max - length));
    isFirst = false;
    length += lengthWithin(child, max - length);
  };
  if (Array.isArray(value)) {
    for (const item of value) {
      add(undefined, item);
      if (length > max) return Infinity;
    }
  } else {
    for (const key in value) {
      const child = value[key];
      if (child !== undefined) add(key, child);
      if (length > max) return Infinity;
    }
  }
  return within(length, max);
}

function within(length: number, max: number): number {
  return length > max ? Infinity : length;
}
