import { ExactNumber, hasJavaScriptNumber, isWhole } from '../../../shared/json/exact-number.ts';
import { isContainer, type JsonObject, type JsonValue, type PlainJsonObject } from '../../../shared/json/json.ts';
import { toPlainJson } from '../../../shared/json/plain-json.ts';
import { checkValue, type CheckingFor } from '../../../validation/check-value.ts';

type PlainArguments = { type: 'plain'; args: PlainJsonObject } | { type: 'refused'; message: string };

/** Only a few numbers are named in a message, and of long ones the beginning. */
const shown = { numbers: 5, characters: 100 };

/**
 * Arguments without an `ExactNumber`, as a function in this process can take them: the digits as text where its schema allows a string. Otherwise they
 * are refused, because the function would act on another number.
 * @throws the signal's reason
 */
export async function toPlainArguments(args: JsonObject, schema: JsonObject, checkingFor: CheckingFor): Promise<PlainArguments> {
  const numbers = longNumbersIn(args);
  const plain = toPlainJson(args) as PlainJsonObject;
  const check = numbers.length === 0 ? undefined : await checkValue(plain, schema, checkingFor);
  if (check === undefined || check.type === 'fits') return { type: 'plain', args: plain };
  const named = numbers.slice(0, shown.numbers).map((number) => number.slice(0, shown.characters));
  const message = `${named.join(', ')}: no JavaScript number has ${numbers.length === 1 ? 'this value' : 'these values'}, and the function takes no string here`;
  return { type: 'refused', message };
}

function longNumbersIn(value: JsonValue | undefined): string[] {
  if (value instanceof ExactNumber) return isWhole(value) && !hasJavaScriptNumber(value) ? [value.source] : [];
  return isContainer(value) ? Object.values(value).flatMap(longNumbersIn) : [];
}
