import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { isJsonObject, type JsonObject } from '../../../src/shared/json/json.ts';
import { buildRequest } from '../../../src/tools/openapi/call/build-request.ts';
import { convertOperations, type Operation } from '../../../src/tools/openapi/convert/convert-operations.ts';
import { createBaseUrls } from '../../../src/tools/openapi/document/server-base-url.ts';
import { findLosses } from '../../_support/find-losses.ts';
import { describeUnless, missingVariable } from '../../_support/missing.ts';
import { corpusFiles, openCorpusDocument, readCorpusDocument } from '../../_support/openapi-corpus.ts';

const files = corpusFiles();

interface Converted {
  document: JsonObject;
  /** The document as it was before it was converted. */
  text: string;
  operations: readonly Operation[];
}

const read = new Map<string, Promise<Converted>>();
/** A document with its functions, which is read and converted once for all tests of it. */
function convertedDocument(name: string): Promise<Converted> {
  const known = read.get(name);
  if (known !== undefined) return known;
  // The next document begins: two large ones beside each other take much memory.
  read.clear();
  const reading = readCorpusDocument(name).then((document): Converted => {
    const text = JSON.stringify(document);
    return { document, text, operations: convertOperations(document).operations };
  });
  read.set(name, reading);
  return reading;
}
const methods = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options', 'trace', 'query'];

function declared(document: JsonObject): string[] {
  const paths = isJsonObject(document['paths']) ? document['paths'] : {};
  return Object.entries(paths).flatMap(([path, entry]) => {
    const reference = isJsonObject(entry) && typeof entry['$ref'] === 'string' ? entry['$ref'] : undefined;
    const item =
      reference === undefined
        ? entry
        : reference
            .slice(2)
            .split('/')
            .reduce<unknown>((at, key) => (isJsonObject(at) ? at[key] : undefined), document);
    return methods.filter((method) => isJsonObject(item) && isJsonObject(item[method])).map((method) => `${method.toUpperCase()} ${path}`);
  });
}

/** Of schemas themselves, whatever patterns they have. */
const ajv = new Ajv2020({ strict: false, validateFormats: false, code: { regExp: Object.assign(() => /x/u, { code: 'any' }) } });

/** A value of the right type for each required argument. */
function someArguments({ spec, bindings, body }: Operation): JsonObject {
  const properties = isJsonObject(spec.parameters['properties']) ? spec.parameters['properties'] : {};
  const required = bindings.filter(({ isRequired }) => isRequired);
  return Object.fromEntries(
    required.map(({ argument, in: place }) => {
      const schema = properties[argument];
      const [type] = [isJsonObject(schema) ? schema['type'] : undefined].flat();
      if (argument === body?.argument && body.format === 'file') return [argument, `data:${body.mediaType.replace('*', 'x')},x`];
      const isObject = place !== 'path' && type === 'object';
      return [argument, isObject ? { a: 1 } : type === 'array' ? ['x'] : type === 'integer' || type === 'number' ? 1 : 'x'];
    }),
  );
}

describeUnless(missingVariable('OPENAPI_CORPUS'), 'the documents of OPENAPI_CORPUS', () => {
  it('are there', () => {
    expect(files.length).toBeGreaterThan(0);
  });

  describe.each(files)('%s', (name) => {
    it('has every operation as a function, or reports it', async () => {
      const { operations, omitted } = (await openCorpusDocument(name)).conversion;
      const { document, text, operations: here } = await convertedDocument(name);
      expect(here).toEqual(operations);
      expect(JSON.stringify(document), 'the document is not changed').toBe(text);

      const known = [...operations.map(({ method, path }) => `${method} ${path}`), ...omitted.map(({ operation }) => operation)];
      expect(known.sort()).toEqual(declared(document).sort());
      expect(operations.length).toBeGreaterThan(0);
      const names = operations.map(({ spec }) => spec.name);
      expect(new Set(names).size).toBe(names.length);
      for (const functionName of names) expect(functionName).toMatch(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/);
    });

    it('loses no parameter, description, required field, type or choice', async () => {
      const { document, operations } = await convertedDocument(name);
      expect(operations.flatMap((operation) => findLosses(document, operation))).toEqual([]);
    });

    it('has functions that are JSON Schemas, and whose requests stay on the server', async () => {
      const { document, operations } = await convertedDocument(name);
      const base = createBaseUrls(document, 'http://tools.test:8000', undefined)({});
      for (const operation of operations) {
        // As it is sent: Ajv knows no numbers with exact digits.
        const parameters = JSON.parse(JSON.stringify(operation.spec.parameters)) as JsonObject;
        expect(ajv.validateSchema(parameters), `${operation.operationId}: ${ajv.errorsText()}`).toBe(true);
        const request = buildRequest(operation, someArguments(operation), base);
        expect(request.url.startsWith(`${base}/`)).toBe(true);
        expect(request.url).not.toMatch(/[{}]/);
      }
    });
  });
});
