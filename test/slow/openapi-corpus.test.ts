import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { isJsonObject, type JsonObject } from '../../src/core/json.ts';
import { buildRequest } from '../../src/tools/openapi/build-request.ts';
import { convertOperations, type Operation } from '../../src/tools/openapi/convert-operations.ts';
import { parseDocument } from '../../src/tools/openapi/parse-document.ts';
import { serverBaseUrl } from '../../src/tools/openapi/server-base-url.ts';

/** A folder of real documents. Without it this file is skipped. */
const folder = process.env['OPENAPI_CORPUS'];
const files = folder === undefined ? [] : readdirSync(folder).filter((name) => /\.(?:json|ya?ml)$/.test(name));
const methods = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options', 'trace'];
/** The slowest one takes a fifth of this; the limit is there to notice what grows without measure. */
const maxConversionMs = 3_000;

function declared(document: JsonObject): string[] {
  const paths = isJsonObject(document['paths']) ? document['paths'] : {};
  return Object.entries(paths).flatMap(([path, item]) =>
    methods.filter((method) => isJsonObject(item) && isJsonObject(item[method])).map((method) => `${method.toUpperCase()} ${path}`),
  );
}

/** A value of the right type for each required argument. */
function someArguments({ spec, places }: Operation): JsonObject {
  const properties = isJsonObject(spec.parameters['properties']) ? spec.parameters['properties'] : {};
  const required = places.filter(({ isRequired }) => isRequired);
  return Object.fromEntries(
    required.map(({ argument, in: place }) => {
      const schema = properties[argument];
      const [type] = [isJsonObject(schema) ? schema['type'] : undefined].flat();
      const isObject = place !== 'path' && type === 'object';
      return [argument, isObject ? { a: 1 } : type === 'array' ? ['x'] : type === 'integer' || type === 'number' ? 1 : 'x'];
    }),
  );
}

describe('the documents of OPENAPI_CORPUS', () => {
  it.skipIf(folder === undefined)('are there', () => {
    expect(files.length).toBeGreaterThan(0);
  });

  it.each(files)('%s: every operation is a function or is reported', (name) => {
    const document = parseDocument(readFileSync(join(folder ?? '', name), 'utf8'));
    const before = JSON.stringify(document);
    const started = performance.now();
    const { operations, omitted } = convertOperations(document);
    expect(performance.now() - started).toBeLessThan(maxConversionMs);
    expect(JSON.stringify(document)).toBe(before);

    const known = [...operations.map(({ method, path }) => `${method} ${path}`), ...omitted.map(({ operation }) => operation)];
    expect(known.sort()).toEqual(declared(document).sort());
    expect(operations.length).toBeGreaterThan(0);
    const names = operations.map(({ spec }) => spec.name);
    expect(new Set(names).size).toBe(names.length);
    for (const functionName of names) expect(functionName).toMatch(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/);
  });

  it.each(files)('%s: every function is a JSON Schema, and its request stays on the server', (name) => {
    const document = parseDocument(readFileSync(join(folder ?? '', name), 'utf8'));
    const base = serverBaseUrl(document, 'http://tools.test:8000', undefined);
    const ajv = new Ajv2020({ strict: false, validateFormats: false, code: { regExp: Object.assign(() => /x/u, { code: 'any' }) } });
    for (const operation of convertOperations(document).operations) {
      expect(ajv.validateSchema(operation.spec.parameters), `${operation.operationId}: ${ajv.errorsText()}`).toBe(true);
      const request = buildRequest(operation, someArguments(operation), base);
      expect(request.url.startsWith(`${base}/`)).toBe(true);
      expect(request.url).not.toMatch(/[{}]/);
    }
  });
});
