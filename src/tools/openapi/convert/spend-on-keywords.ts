import { ownValue } from '../../../shared/json.ts';
import type { JsonObject } from '../../../shared/json.ts';
import { spendOnValue, textCost, type Spend } from './conversion-budget.ts';
import { descriptionCharacters, listOf, maxChoices } from './schema-keywords.ts';

const lists = ['type', 'required', 'allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'];
const values = ['const', 'default', 'format', 'pattern', 'contentEncoding', 'contentMediaType'];

/** Pays for what one schema may hold of any length beside the schemas in it: lists, choices, values and texts. */
export function spendOnKeywords(schema: JsonObject, spend: Spend): void {
  for (const key of lists) {
    const { length } = listOf(schema, key);
    if (length > 0) spend(length);
  }
  for (const key of values) spendOnValue(ownValue(schema, key), spend);
  const description = ownValue(schema, 'description');
  if (typeof description === 'string') spend(textCost(description.slice(0, descriptionCharacters)));
  const choices = listOf(schema, 'enum');
  // More of them are left out without looking at each.
  if (choices.length <= maxChoices) for (const choice of choices) spendOnValue(choice, spend);
}

/** Whether a schema says anything beside its `$ref`. */
export function hasKeysBesideReference(schema: JsonObject, spend: Spend): boolean {
  const { length } = Object.keys(schema);
  spend(length);
  return length > 1;
}
