import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../../../shared/json/json.ts';
import { referenceOf } from '../../../../shared/json-schema/resolve.ts';
import { spendOnNames, spendOnValue, textCost, type Spend } from '../../conversion-budget.ts';
import { resolveReference } from '../../document/resolve-references.ts';
import { descriptionCharacters, listOf, maxChoices } from './schema-keywords.ts';

/** Keywords with lists, and keywords with values or texts of any length. */
const listKeywords = ['type', 'required', 'allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'];
const valueKeywords = ['const', 'default', 'format', 'pattern', 'contentEncoding', 'contentMediaType'];

interface PartsOptions {
  document: JsonObject;
  spend: Spend;
  adaptChild: (schema: JsonValue | undefined) => JsonObject;
}

/** The keywords of a schema that hold the schemas of members and items. */
export function adaptParts(schema: JsonObject, { document, spend, adaptChild }: PartsOptions): JsonObject {
  const parts: JsonObject = {};
  const removed = new Set<string>();
  for (const key of ['properties', 'patternProperties']) {
    const members = ownValue(schema, key);
    if (!isJsonObject(members)) continue;
    spendOnNames(Object.keys(members), spend);
    const entries = Object.entries(members).filter(([name, member]) => {
      if (isReadOnly(document, member, spend)) removed.add(name);
      return !removed.has(name);
    });
    parts[key] = Object.fromEntries(entries.map(([name, member]) => [name, adaptChild(member)]));
  }
  const required = listOf(schema, 'required').filter((name) => typeof name === 'string' && !removed.has(name));
  if (required.length > 0) parts['required'] = required;
  const additional = ownValue(schema, 'additionalProperties');
  if (typeof additional === 'boolean') parts['additionalProperties'] = additional;
  if (isJsonObject(additional)) parts['additionalProperties'] = Object.keys(additional).length === 0 || adaptChild(additional);
  // A list in `items` was the tuple of older drafts.
  const tuple = [...listOf(schema, 'prefixItems'), ...listOf(schema, 'items')];
  if (tuple.length > 0) parts['prefixItems'] = tuple.map(adaptChild);
  for (const key of ['items', 'contains', 'propertyNames']) {
    const part = ownValue(schema, key);
    if (isJsonObject(part) || typeof part === 'boolean') parts[key] = adaptChild(part);
  }
  return parts;
}

/** Pays for the parts of one schema that may have any length, besides the schemas in it: lists, choices, values and texts. */
export function spendOnKeywords(schema: JsonObject, spend: Spend): void {
  for (const key of listKeywords) {
    const { length } = listOf(schema, key);
    if (length > 0) spend(length);
  }
  for (const key of valueKeywords) spendOnValue(ownValue(schema, key), spend);
  const description = ownValue(schema, 'description');
  if (typeof description === 'string') spend(textCost(description.slice(0, descriptionCharacters)));
  const choices = listOf(schema, 'enum');
  // If there are more, all are left out without looking at each.
  if (choices.length <= maxChoices) for (const choice of choices) spendOnValue(choice, spend);
}

/** Whether only responses contain it. Such a member must not become an argument: the server would ignore or refuse it. */
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

/** `allOf` with one branch is how 3.0 documents put keywords beside a reference. */
function onlyBranch(schema: JsonObject): JsonObject {
  const branches = listOf(schema, 'allOf');
  const [branch] = branches;
  return isJsonObject(branch) && branches.length === 1 ? branch : {};
}
