import { isJsonObject } from '../../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../../shared/json.ts';
import type { Spend } from './conversion-budget.ts';
import { referenceOf, resolveReference } from '../load/resolve-references.ts';
import { listOf } from './schema-keywords.ts';

/** What only answers hold must not be asked from a model: the server would ignore or refuse it. */
export function isReadOnly(document: JsonObject, schema: JsonValue | undefined, spend: Spend): boolean {
  let current = schema;
  const seen = new Set<string>();
  while (isJsonObject(current)) {
    if (current['readOnly'] === true) return true;
    const reference = referenceOf(current) ?? referenceOf(onlyBranch(current));
    if (reference === undefined || seen.has(reference)) return onlyBranch(current)['readOnly'] === true;
    seen.add(reference);
    current = resolveReference(document, reference, spend);
  }
  return false;
}

/** `allOf` with one branch is how 3.0 documents put words beside a reference. */
function onlyBranch(schema: JsonObject): JsonObject {
  const branches = listOf(schema, 'allOf');
  const [branch] = branches;
  return isJsonObject(branch) && branches.length === 1 ? branch : {};
}
