import { ExactNumber } from '../shared/json/exact-number.ts';
import { isJsonObject, type JsonValue } from '../shared/json/json.ts';

/** Where an `ExactNumber` stands in a value, and its text. */
export type PlacedNumber = [path: (string | number)[], source: string];

/**
 * Steps of all paths. With more it is a vector or a table of measurements, which stay JavaScript numbers: sending each takes as long as sending several
 * values, and the steps of a number that is nested deep as long as sending hundreds.
 */
const maxSteps = 100_000;

interface Place {
  value: unknown;
  step: string | number;
  holder: Place | undefined;
}

/** Replaces each `ExactNumber` by the nearest number, because structured cloning makes plain objects of them. `numbers`: what is to be put back. */
export function detachExactNumbers(value: JsonValue): { value: JsonValue; numbers: PlacedNumber[] } {
  const numbers: PlacedNumber[] = [];
  let stepsLeft = maxSteps;
  const root: Place = { value, step: 'value', holder: { value: { value }, step: '', holder: undefined } };
  const waiting = [root];
  for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
    const holder = place;
    if (place.value instanceof ExactNumber) {
      const path = stepsLeft > 0 ? pathOf(place) : [];
      stepsLeft -= path.length + 1;
      if (stepsLeft >= 0) numbers.push([path, place.value.source]);
      place.value = Number(place.value.source);
      if (place.holder !== undefined) (place.holder.value as Record<string | number, unknown>)[place.step] = place.value;
    } else if (Array.isArray(place.value)) {
      for (const [step, child] of place.value.entries()) waiting.push({ value: child, step, holder });
    } else if (isJsonObject(place.value)) for (const step in place.value) waiting.push({ value: place.value[step], step, holder });
  }
  return { value: root.value as JsonValue, numbers };
}

function pathOf(place: Place): (string | number)[] {
  const path: (string | number)[] = [];
  for (let { step, holder } = place; holder !== undefined; { step, holder } = holder) path.push(step);
  return path.toReversed().slice(1);
}

/** Puts the numbers back into a value that was cloned; returns it. */
export function attachExactNumbers(value: JsonValue, numbers: readonly PlacedNumber[]): JsonValue {
  const root: Record<string | number, unknown> = { value };
  for (const [path, source] of numbers) {
    const steps = ['value', ...path];
    const last = steps.pop() ?? 'value';
    let holder = root;
    for (const step of steps) holder = holder[step] as Record<string | number, unknown>;
    holder[last] = new ExactNumber(source);
  }
  return root['value'] as JsonValue;
}
