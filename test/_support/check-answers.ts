import { Ajv2020 } from 'ajv/dist/2020.js';
import type { JsonObject, JsonValue } from '../../src/shared/json/json.ts';
import { isJsonObject } from '../../src/shared/json/json.ts';

export interface GivenAnswer {
  statusCode: number;
  headers: Readonly<Record<string, unknown>>;
  body: string;
}

/**
 * Compares answers with an OpenAPI document, which has to declare each status, media type and field: where it does not say that there may be further
 * fields, there may be none. Gives what is wrong, a line each.
 */
export function answerChecker(document: JsonObject): (route: string, answer: GivenAnswer) => string[] {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(closed(document) as JsonObject, 'document');
  return (route, { statusCode, headers, body }) => {
    const [method = '', path = ''] = route.split(' ', 2);
    const at = ['paths', path, method.toLowerCase(), 'responses'];
    const responses = valueAt(document, at);
    if (!isJsonObject(responses)) return [`${route}: is not in the document`];
    const status = String(statusCode) in responses ? String(statusCode) : 'default';
    const response = responses[status];
    const reference = isJsonObject(response) ? response['$ref'] : undefined;
    const place = typeof reference === 'string' ? reference.slice(2).split('/') : [...at, status];
    const contents = valueAt(document, [...place, 'content']);
    const type = String(headers['content-type'] ?? '').replace(/;.*/, '');
    if (!isJsonObject(contents)) return body === '' ? [] : [`${route}: ${status} has a body that is not declared`];
    if (!(type in contents)) return [`${route}: ${status} has the type ${type}, not ${Object.keys(contents).join(' or ')}`];
    const pointer = [...place, 'content', type, 'schema'].map((step) =>
      encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1')),
    );
    const validate = ajv.compile({ $ref: `document#/${pointer.join('/')}` });
    // Each line of NDJSON is a value of its own.
    const values: unknown[] = type.endsWith('/x-ndjson')
      ? body
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line) as unknown)
      : [type.endsWith('json') ? JSON.parse(body) : body];
    if (values.every((value) => validate(value))) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${route}: ${status} ${instancePath} ${message ?? ''} ${JSON.stringify(params)}`,
    );
  };
}

function closed(value: JsonValue | undefined): JsonValue {
  if (Array.isArray(value)) return value.map(closed);
  if (!isJsonObject(value)) return value ?? null;
  const copy = Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, closed(entry)]));
  const isObject = value['type'] === 'object' && isJsonObject(value['properties']);
  return isObject && !('additionalProperties' in value) ? { ...copy, additionalProperties: false } : copy;
}

function valueAt(document: JsonObject, steps: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = document;
  for (const step of steps) value = isJsonObject(value) ? value[step] : undefined;
  return value;
}
