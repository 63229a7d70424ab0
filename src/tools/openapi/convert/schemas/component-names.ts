import type { JsonObject } from '../../../../shared/json/json.ts';

/** The names that referenced schemas have in their document. */
const componentNames = new WeakMap<JsonObject, string>();

/** By the first reference that led to it. */
export function rememberName(schema: JsonObject, reference: string): void {
  if (!componentNames.has(schema)) componentNames.set(schema, plainName(reference));
}

/** The name of a schema that came from a reference and is as it was there. */
export function componentName(schema: JsonObject): string | undefined {
  return componentNames.get(schema);
}

function plainName(reference: string): string {
  const last = reference.slice(reference.lastIndexOf('/') + 1).replaceAll(/[^A-Za-z0-9_.-]+/g, '_');
  return last.replaceAll(/^_+|(?<!_)_+$/g, '') || 'Definition';
}

/** Numbering continues where it ended, because thousands of schemas may have the same last name. */
export function createNameChooser(): (reference: string) => string {
  const used = new Set<string>();
  const lastNumbers = new Map<string, number>();
  return (reference) => {
    const name = plainName(reference);
    let number = lastNumbers.get(name) ?? 1;
    let free = number === 1 ? name : `${name}_${number}`;
    for (; used.has(free); free = `${name}_${number}`) number += 1;
    lastNumbers.set(name, number);
    used.add(free);
    return free;
  };
}
