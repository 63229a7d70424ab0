import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../shared/json/json.ts';

/** Generic words in placeholders. */
const generic = new Set(['value', 'string', 'number', 'integer', 'text', 'name', 'id', 'placeholder', 'argument', 'parameter', 'here']);
const bracketed = /^(?:<([^<>]{1,80})>|\{\{?([^{}]{1,80})\}?\}|\[([^[\]]{1,80})\])$/;
const fillIn = /^(?:\.{3}|…|(?:your|insert|enter|replace|example)_\w{1,60}|YOUR[ _-][A-Z _-]{1,60}|(?:insert|enter) [\w ]{1,60} here)$/i;
const dateForm = /^(?:yyyy|dd|mm)[-/.](?:mm|dd)[-/.](?:dd|yyyy)$/i;

/**
 * The name of the first argument that holds a placeholder instead of a value, as in templates and examples: `<city>`, `...`, `your_api_key`.
 * A value that the schema lists (enum, examples, default, const) is never a placeholder.
 */
export function findPlaceholder(args: JsonObject, parameters: JsonObject): string | undefined {
  const properties = ownValue(parameters, 'properties');
  for (const [name, value] of Object.entries(args)) {
    const schema = isJsonObject(properties) ? ownValue(properties, name) : undefined;
    if (value !== undefined && isPlaceholder(value, { name, schema })) return name;
  }
  const texts = Object.values(args).filter((value) => typeof value === 'string');
  // All values are the word "string": the model has copied the types of the schema.
  return texts.length > 1 && texts.every((text) => text === 'string') ? Object.keys(args)[0] : undefined;
}

function isPlaceholder(value: JsonValue, { name, schema }: { name: string; schema: JsonValue | undefined }): boolean {
  if (Array.isArray(value)) {
    const items = isJsonObject(schema) ? ownValue(schema, 'items') : undefined;
    return value.length <= 20 && value.some((item) => isPlaceholder(item, { name, schema: items }));
  }
  if (typeof value !== 'string' || value.length > 90 || isListedInSchema(value, schema)) return false;
  if (fillIn.test(value) || (dateForm.test(value) && /date|day/i.test(name))) return true;
  const inside = bracketed
    .exec(value)
    ?.slice(1)
    .find((text) => text !== undefined);
  if (inside === undefined) return namesVariable(value, name);
  return namesParameter(inside, name, value.startsWith('<')) || namesResult(inside);
}

const variable = /^\$(?:\{([\w.]{1,80})\}|([A-Za-z_][\w.]{0,80}))$/;

/** `$query` and `${query}` for `query`; `$HOME` may be meant. */
function namesVariable(value: string, name: string): boolean {
  const [, braced, plain] = variable.exec(value) ?? [];
  const inside = braced ?? plain;
  return inside !== undefined && (namesParameter(inside, name, false) || namesResult(inside));
}

/** A reference to the result of another call: `<result of search>`, `{previous_result}`. */
function namesResult(inside: string): boolean {
  const words = wordsOf(inside);
  return words.length > 1 && words.length <= 6 && ['result', 'results', 'output', 'response'].some((word) => words.includes(word));
}

function isListedInSchema(value: string, schema: JsonValue | undefined): boolean {
  if (!isJsonObject(schema)) return false;
  const values = [ownValue(schema, 'enum'), ownValue(schema, 'examples'), ownValue(schema, 'default'), ownValue(schema, 'const')].flat();
  return values.includes(value);
}

/** `<city name>` for `city`, `<value>`, `<your key>`; other words in `<…>` may be HTML. */
function namesParameter(inside: string, name: string, isAngled: boolean): boolean {
  const words = wordsOf(inside);
  const parameterWords = wordsOf(name);
  if (words.length === 0) return false;
  if (words[0] === 'your' || words[0] === 'insert' || words[0] === 'enter') return true;
  const isParameterName = words.every((word) => parameterWords.includes(word) || generic.has(word));
  return isParameterName || (isAngled && words.length <= 4 && parameterWords.some((word) => words.includes(word)));
}

function wordsOf(text: string): string[] {
  return text
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
}
