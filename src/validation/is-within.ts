import { isContainer, type JsonValue } from '../shared/json/json.ts';

/** Whether a value consists of at most this many values and characters, without going through more of it. */
export function isWithin(value: JsonValue, { values, characters }: { values: number; characters: number }): boolean {
  const left = { values, characters };
  return takes(value, left);
}

function takes(value: JsonValue | undefined, left: { values: number; characters: number }): boolean {
  left.values -= 1;
  if (typeof value === 'string') left.characters -= value.length;
  if (left.values < 0 || left.characters < 0) return false;
  if (!isContainer(value)) return true;
  if (Array.isArray(value)) return value.every((item) => takes(item, left));
  for (const name in value) {
    left.characters -= name.length;
    if (!takes(value[name], left)) return false;
  }
  return true;
}
