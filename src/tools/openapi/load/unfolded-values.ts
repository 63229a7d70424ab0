import { isJsonObject } from '../../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../../shared/json.ts';
import { referenceOf, resolveReference } from './resolve-references.ts';

/** Values within each other, across references: real documents stay below a tenth of it, and more could overflow the stack. */
const maxDepth = 2_000;

/**
 * How many values a document has with every reference written out, except where one leads back to itself: forty schemas that each refer twice to
 * the one before make a trillion. Looks at each value once. `Infinity` where it is nested too deep to be counted.
 */
export function unfoldedValues(document: JsonObject): number {
  const known = new Map<string, number>();
  const opened = new Set<string>();

  const count = (value: JsonValue | undefined, depth: number): number => {
    if (typeof value !== 'object' || value === null) return 1;
    if (depth > maxDepth) return Number.POSITIVE_INFINITY;
    const reference = isJsonObject(value) ? referenceOf(value) : undefined;
    let values = 1 + (reference === undefined ? 0 : countTarget(reference, depth));
    for (const child of Array.isArray(value) ? value : Object.values(value)) values += count(child, depth + 1);
    return values;
  };

  const countTarget = (reference: string, depth: number): number => {
    if (opened.has(reference)) return 1;
    const before = known.get(reference);
    if (before !== undefined) return before;
    opened.add(reference);
    const values = count(tryResolve(document, reference), depth + 1);
    opened.delete(reference);
    known.set(reference, values);
    return values;
  };

  return count(document, 0);
}

function tryResolve(document: JsonObject, reference: string): JsonValue {
  try {
    return resolveReference(document, reference);
  } catch {
    return null;
  }
}
