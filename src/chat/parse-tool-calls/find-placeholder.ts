import { isJsonObject, ownValue } from '../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';

/** Words with which a place to be filled in is named. */
const generic = new Set(['value', 'string', 'number', 'integer', 'text', 'name', 'id', 'placeholder', 'argument', 'parameter', 'here']);
const bracketed = /^(?:<([^<>]{1,80})>|\{\{?([^{}]{1,80})\}?\}|\[([^[\]]{1,80})\])$/;
const fillIn = /^(?:\.{3}|…|(?:your|insert|enter|replace|example)_\w{1,60}|YOUR[ _-][A-Z _-]{1,60}|(?:insert|enter) [\w ]{1,60} here)$/i;
const dateForm = /^(?:yyyy|dd|mm)[-/.](?:mm|dd)[-/.](?:dd|yyyy)$/i;

/**
 * The path of the first argument that is no value but the place for one, as templates and examples have them: `<city>`, `...`, `your_api_key`.
 * What the schema names as a value is one.
 */
export function findPlaceholder(args: JsonObject, parameters: JsonObject): string | undefined {
  const properties = ownValue(parameters, 'properties');
  for (const [name, value] of Object.entries(args)) {
    const schema = isJsonObject(properties) ? ownValue(properties, name) : undefined;
    if (value !== undefined && isPlaceholder(value, { name, schema })) return name;
  }
  const texts = Object.values(args).filter((value) => typeof value === 'string');
  // The types of the schema in place of values.
  return texts.length > 1 && texts.every((text) => text === 'string') ? Object.keys(args)[0] : undefined;
}

function isPlaceholder(value: JsonValue, { name, schema }: { name: string; schema: JsonValue | undefined }): boolean {
  if (Array.isArray(value)) {
    const items = isJsonObject(schema) ? ownValue(schema, 'items') : undefined;
    return value.length <= 20 && value.some((item) => isPlaceholder(item, { name, schema: items }));
  }
  if (typeof value !== 'string' || value.length > 90 || isNamed(value, schema)) return false;
  if (fillIn.test(value) || (dateForm.test(value) && /date|day/i.test(name))) return true;
  const inside = bracketed
    .exec(value)
    ?.slice(1)
    .find((text) => text !== undefined);
  if (inside === undefined) return namesVariable(value, name);
  return namesPlace(inside, name, value.startsWith('<')) || namesResult(inside);
}

const variable = /^\$(?:\{([\w.]{1,80})\}|([A-Za-z_][\w.]{0,80}))$/;

/** `$query` and `${query}` for `query`; `$HOME` may be meant. */
function namesVariable(value: string, name: string): boolean {
  const [, braced, plain] = variable.exec(value) ?? [];
  const inside = braced ?? plain;
  return inside !== undefined && (namesPlace(inside, name, false) || namesResult(inside));
}

/** `<result of search>`, `{previous_result}`: what another call is still to give. */
function namesResult(inside: string): boolean {
  const words = wordsOf(inside);
  return words.length > 1 && words.length <= 6 && ['result', 'results', 'output', 'response'].some((word) => words.includes(word));
}

function isNamed(value: string, schema: JsonValue | undefined): boolean {
  if (!isJsonObject(schema)) return false;
  const values = [ownValue(schema, 'enum'), ownValue(schema, 'examples'), ownValue(schema, 'default'), ownValue(schema, 'const')].flat();
  return values.includes(value);
}

/** `<city name>` for `city`, `<value>`, `<your key>`; other words in `<…>` may be HTML. */
function namesPlace(inside: string, name: string, isAngled: boolean): boolean {
  const words = wordsOf(inside);
  const own = wordsOf(name);
  if (words.length === 0) return false;
  if (words[0] === 'your' || words[0] === 'insert' || words[0] === 'enter') return true;
  const isOwn = words.every((word) => own.includes(word) || generic.has(word));
  return isOwn || (isAngled && words.length <= 4 && own.some((word) => words.includes(word)));
}

function wordsOf(text: string): string[] {
  return text
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
}
