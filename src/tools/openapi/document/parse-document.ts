import { scan } from 'secure-json-parse';
import { parse as parseYaml, type ScalarTag, type Tags } from 'yaml';
import { isDeeperThan, isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { limits } from '../../../core/limits.ts';
import { parseForeign } from '../../../shared/json/parse-exactly.ts';
import { isJsonNumber, toNumber } from '../../../shared/json/exact-number.ts';

/** Keys that would change a prototype where the document is copied. */
const cleaning = { protoAction: 'remove', constructorAction: 'remove' } as const;

/**
 * `maxAliasCount` is the package's own default, stated because it keeps a small text from becoming gigabytes. Like in JSON the last of two
 * equal keys counts: checking for them takes the square of their number. Only types of JSON: a `!!binary` or `!!set` stays what it was written as.
 */
const yamlOptions = {
  maxAliasCount: 100,
  merge: true,
  uniqueKeys: false,
  resolveKnownTags: false,
  logLevel: 'error',
  customTags: (tags: Tags) => tags.map(withExactNumbers),
} as const;

/** Reads the numbers that JSON has too as `parseExactly` does. */
function withExactNumbers(tag: Tags[number]): Tags[number] {
  if (typeof tag !== 'object' || tag.collection !== undefined || !/:(?:int|float)$/.test(tag.tag)) return tag;
  const resolveExactly: ScalarTag['resolve'] = (text, onError, options) =>
    isJsonNumber(text) ? toNumber(text) : tag.resolve(text, onError, options);
  return { ...tag, resolve: resolveExactly };
}

/**
 * The OpenAPI document in a JSON or YAML text.
 * @throws Error whose message says what is wrong with the text: neither JSON nor YAML, no object, too deep, no OpenAPI document.
 */
export function parseDocument(text: string): JsonObject {
  return checkDocumentKind(parseTree(text));
}

/**
 * What a JSON or YAML text holds, whatever that is: for the files that a document consists of.
 * @throws Error as `parseDocument` does.
 */
export function parseTree(text: string): JsonValue {
  const trimmed = text.replace(/^\uFEFF/, '').trim();
  if (trimmed === '') throw new Error('The document is empty.');
  if (trimmed.startsWith('<')) throw new Error('This is an HTML or XML page, not an OpenAPI document in JSON or YAML.');
  // YAML contains JSON, but its parser takes fifty times as long; so it only gets what is no JSON.
  return isJsonText(trimmed) ? readJson(trimmed) : readYaml(trimmed);
}

/** The same parser with messages that quote no secrets: they may quote a part of the text, and a secret that was cut would not be recognized any more. */
export function hidingSecrets<Value>(parse: (text: string) => Value, hide: (text: string) => string): (text: string) => Value {
  return (text) => {
    try {
      return parse(text);
    } catch (error) {
      const hidden = hide(text);
      if (hidden === text) throw error;
      parse(hidden);
      throw new Error('The text cannot be read.', { cause: error });
    }
  };
}

export function checkDocumentKind(document: JsonValue): JsonObject {
  if (!isJsonObject(document)) throw new Error('An OpenAPI document is an object; this is not.');
  if (!['openapi', 'swagger', 'paths'].some((key) => ownValue(document, key) !== undefined))
    throw new Error('This is not an OpenAPI document: it has neither "openapi" nor "swagger" nor "paths".');
  return document;
}

/** Whether a text is meant as JSON: YAML may begin with `{` as well, but then an unquoted key follows. */
export function isJsonText(text: string): boolean {
  return /^\s*[{[]\s*(?:["}\]{[]|$)/.test(text);
}

function readJson(text: string): JsonValue {
  const value = readText(() => parseForeign(text, 'remove'), 'not valid JSON');
  checkDepth(value);
  return value;
}

function readYaml(text: string): JsonValue {
  const value = readText(() => parseYaml(text, yamlOptions) as JsonValue, 'neither JSON nor valid YAML');
  checkDepth(value);
  // After the check of the depth: an alias can lie within its own anchor, and scanning such a circle would not end.
  if (typeof value === 'object' && value !== null) scan(value, cleaning);
  return value;
}

function readText(parse: () => JsonValue, problem: string): JsonValue {
  try {
    return parse();
  } catch (error) {
    throw new Error(`The document is ${problem}: ${firstLine(error)}`, { cause: error });
  }
}

function checkDepth(value: JsonValue): void {
  if (isDeeperThan(value, limits.documentDepth)) throw new Error(`The document is nested deeper than ${limits.documentDepth} levels.`);
}

function firstLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.split('\n', 1)[0]?.replace(/:$/, '') ?? '';
}
