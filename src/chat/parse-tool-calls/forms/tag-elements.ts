import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { limits } from '../../../core/limits.ts';
import { cutOff, type AnswerText } from '../answer-text.ts';
import { objectOfEntries } from '../json/parse-json.ts';
import { statedTypes, typeParameter } from './type-parameter.ts';

/** Tags of elements, each after a mark that no value can hold. */
interface ElementSource {
  input: AnswerText;
  mark: string;
}

interface OpenElement {
  /** Behind the opening tag. */
  at: number;
  /** The closing tag, with the mark. */
  close: string;
  schema: JsonObject | undefined;
  depth: number;
}

type ReadElements = { value: JsonValue; end: number } | 'truncated' | 'malformed';

const maxTag = 256;

/**
 * MiniMax M3: an object as `<name>value</name>…`, a list as `<item>…</item>…`, a value as bare text, up to the closing tag. Of the whole arguments,
 * which are an object, `depth` is 0.
 */
export function readElements(source: ElementSource, element: OpenElement): ReadElements {
  const { input, mark } = source;
  const { at, close, schema, depth } = element;
  if (depth > limits.jsonDepth) return 'malformed';
  const first = input.skipSpace(at);
  const hasChildren = input.startsWith(mark, first) && !input.startsWith(close, first);
  if (depth === 0 || hasChildren) return readChildren(source, element, first);
  const end = input.find(close, at, limits.argumentsBytes);
  if (end < 0) return end === cutOff ? 'truncated' : 'malformed';
  return { value: emptyOf(schema, input.text.slice(at, end)), end: end + close.length };
}

function readChildren(source: ElementSource, { close, schema, depth }: OpenElement, first: number): ReadElements {
  const { input, mark } = source;
  const entries: [string, JsonValue][] = [];
  const isList = schema !== undefined && statedTypes(schema).includes('array');
  for (let position = first; ; position = input.skipSpace(position)) {
    if (input.startsWith(close, position)) return { value: valueOf(entries, isList), end: position + close.length };
    if (position >= input.text.length) return 'truncated';
    if (!input.startsWith(`${mark}<`, position)) return 'malformed';
    const nameAt = position + mark.length + 1;
    const nameEnd = input.find('>', nameAt, maxTag);
    if (nameEnd < 0) return nameEnd === cutOff ? 'truncated' : 'malformed';
    const name = input.text.slice(nameAt, nameEnd);
    if (!/^[^\s</>]+$/.test(name)) return 'malformed';
    const child = readElements(source, {
      at: nameEnd + 1,
      close: `${mark}</${name}>`,
      schema: childSchema(schema, name),
      depth: depth + 1,
    });
    if (typeof child === 'string') return child;
    entries.push([name, child.value]);
    position = child.end;
  }
}

/** A list has nothing but items; two members of one name would leave open which counts, so they become a list that no schema of an object fits. */
function valueOf(entries: [string, JsonValue][], isList: boolean): JsonValue {
  const names = new Set(entries.map(([name]) => name));
  const isItems = names.size === 1 && names.has('item');
  if ((isList && (isItems || names.size === 0)) || names.size < entries.length) return entries.map(([, value]) => value);
  return objectOfEntries(entries);
}

function emptyOf(schema: JsonObject | undefined, text: string): JsonValue {
  const types = schema === undefined || text.trim() !== '' ? [] : statedTypes(schema);
  if (types.includes('array')) return [];
  return types.includes('object') && !types.includes('string') ? {} : typeParameter(text, schema);
}

function childSchema(schema: JsonObject | undefined, name: string): JsonObject | undefined {
  if (schema === undefined) return undefined;
  const properties = ownValue(schema, 'properties');
  const items = name === 'item' ? ownValue(schema, 'items') : undefined;
  const child = isJsonObject(properties) && Object.hasOwn(properties, name) ? ownValue(properties, name) : items;
  return isJsonObject(child) ? child : undefined;
}
