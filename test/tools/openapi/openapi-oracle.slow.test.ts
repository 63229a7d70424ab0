import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import oasToHar from '@readme/oas-to-har';
import Oas from 'oas';
import { expect, it } from 'vitest';
import { compileSchema } from '../../../src/validation/compile-schema.ts';
import { isJsonObject, type JsonObject } from '../../../src/shared/json/json.ts';
import type { PreparedRequest } from '../../../src/core/tools/browser-call.ts';
import { ArgumentError, buildRequest } from '../../../src/tools/openapi/call/build-request.ts';
import { convertOperations } from '../../../src/tools/openapi/convert/convert-operations.ts';
import type { ArgumentBinding, Operation } from '../../../src/tools/definitions/operation.ts';
import { parseDocument } from '../../../src/tools/openapi/document/parse-document.ts';
import { describeUnless, missingVariable } from '../../_support/missing.ts';
import { bodyKindOf, decode, isExplained, isSame, placesOf, type Spoken } from '../../_support/oracle-differences.ts';
import { sampleValue } from '../../_support/sample-arguments.ts';

interface Named {
  name: string;
  value: string;
}

type HarRequest = ReturnType<typeof oasToHar>['log']['entries'][number]['request'];

/** A folder of real documents. The oracle knows no Swagger 2.0. */
const folder = process.env['OPENAPI_CORPUS'];
const files = folder === undefined ? [] : readdirSync(folder).filter((name) => /\.(?:json|ya?ml)$/.test(name));
/** Of each document, spread over it: the oracle takes its time. */
const operationsPerDocument = 60;
const seeds = [0, 1];
const base = 'http://tools.test:8000';

function speak({ url, headers, body, bodyEncoding }: PreparedRequest, form: [string, string][] | undefined): Spoken {
  const { pathname, search } = new URL(url);
  const { accept: _accept, cookie, 'content-type': type = '', ...others } = headers;
  const raw = bodyEncoding === undefined ? body : Buffer.from(body ?? '', 'base64').toString('latin1');
  const entries = form?.map(([name, value]) => `${name}=${value}`).sort();
  return {
    path: pathname.split('/').slice(1).map(decode),
    query: search
      .slice(1)
      .split('&')
      .filter((pair) => pair !== '')
      .map(decode)
      .sort(),
    headers: Object.entries(others)
      .map(([name, value]) => `${name}: ${value}`)
      .sort(),
    cookies: (cookie ?? '')
      .split('; ')
      .filter((pair) => pair !== '')
      .map(decode)
      .sort(),
    body: entries ?? (raw === undefined ? undefined : /json/.test(type) ? JSON.parse(raw) : raw),
  };
}

function speakOracle(har: HarRequest, server: string): Spoken {
  const postData = har.postData as { mimeType: string; text?: string; params?: Named[] } | undefined;
  const fields = postData?.params?.map(({ name, value }) => `${name}=${value}`).sort();
  const text = postData?.text;
  return {
    path: har.url.slice(server.length).split('?')[0]?.split('/').slice(1).map(decode) ?? [],
    // The values of the query are encoded, and an exploded list is one of them: `a&name=b`.
    query: [har.url.split('?')[1] ?? '', ...har.queryString.map(({ name, value }: Named) => `${name}=${value}`)]
      .flatMap((text) => text.split('&'))
      .filter((pair) => pair !== '')
      .map(decode)
      .sort(),
    headers: har.headers
      .filter(({ name }: Named) => !['accept', 'content-type'].includes(name.toLowerCase()))
      .map(({ name, value }: Named) => `${name.toLowerCase()}: ${value}`)
      .sort(),
    cookies: har.cookies.map(({ name, value }: Named) => `${name}=${decode(value)}`).sort(),
    body: fields ?? (text === undefined || text === '' ? undefined : /json/.test(postData?.mimeType ?? '') ? JSON.parse(text) : text),
  };
}

/** The arguments by place, as the oracle wants them. */
function oracleValues(operation: Operation, args: JsonObject): JsonObject {
  const at = (place: ArgumentBinding['in']): JsonObject =>
    Object.fromEntries(placesOf(operation, args, place).map(([{ name }, value]) => [name, value]));
  const values: JsonObject = { path: at('path'), query: at('query'), header: at('header'), cookie: at('cookie') };
  const parts = placesOf(operation, args, 'body');
  if (operation.body === undefined || parts.length === 0) return values;
  const body = operation.body.kind === 'whole' ? parts[0]?.[1] : at('body');
  return { ...values, [bodyKindOf(operation) === 'form' ? 'formData' : 'body']: body };
}

/** As the platform reads it; files as their text. */
async function formOf(request: PreparedRequest): Promise<[string, string][] | undefined> {
  const { headers, body = '', bodyEncoding } = request;
  if (!/form/.test(headers['content-type'] ?? '')) return undefined;
  const form = await new Response(bodyEncoding === 'base64' ? Buffer.from(body, 'base64') : body, { headers }).formData();
  return Promise.all(
    [...form].map(async ([name, value]): Promise<[string, string]> => [name, value instanceof File ? await value.text() : value]),
  );
}

/** The oracle over the paths of these operations alone: it takes the whole document apart otherwise. */
function createOracle(document: JsonObject, operations: readonly Operation[]): (operation: Operation, args: JsonObject) => Spoken {
  const wanted = new Set(operations.map(({ path }) => path));
  const paths = isJsonObject(document['paths']) ? document['paths'] : {};
  // Credentials are the connection's, here and there.
  const { security: _security, ...rest } = document;
  const small = { ...rest, paths: Object.fromEntries(Object.entries(paths).filter(([path]) => wanted.has(path))) };
  const oas = new Oas(structuredClone(small) as unknown as ConstructorParameters<typeof Oas>[0]);
  return (operation, args) => {
    const theirs = oas.operation(operation.path, operation.method.toLowerCase() as Parameters<typeof oas.operation>[1]);
    const values = oracleValues(operation, structuredClone(args)) as Parameters<typeof oasToHar>[2];
    const { request } = oasToHar(oas, theirs, values).log.entries[0];
    return speakOracle(request, theirs.url(0, theirs.defaultVariables(0)));
  };
}

/** Valid arguments with their request; none where the generator met a rule that it does not know. */
function sampleCall(operation: Operation, seed: number): { operation: Operation; args: JsonObject; request: PreparedRequest }[] {
  const { parameters } = operation.spec;
  const args = sampleValue(parameters, parameters, seed);
  if (!isJsonObject(args) || (compileSchema(parameters)?.(args) ?? []).length > 0) return [];
  try {
    return [{ operation, args, request: buildRequest(operation, args, base) }];
  } catch (error) {
    if (error instanceof ArgumentError) return [];
    throw error;
  }
}

describeUnless(missingVariable('OPENAPI_CORPUS'), 'requests for the documents of OPENAPI_CORPUS', () => {
  it('are there', () => {
    expect(files.length).toBeGreaterThan(0);
  });

  it.each(files)('%s: an independent builder writes the same, or a specification says why not', { timeout: 120_000 }, async (name) => {
    const document = parseDocument(readFileSync(join(folder ?? '', name), 'utf8'));
    if (document['swagger'] !== undefined) return;
    const { operations } = convertOperations(document);
    const step = Math.max(1, Math.floor(operations.length / operationsPerDocument));
    const chosen = operations.filter((_, index) => index % step === 0).slice(0, operationsPerDocument);
    const oracle = createOracle(document, chosen);
    const samples = chosen.flatMap((operation) => seeds.flatMap((seed) => sampleCall(operation, seed)));
    const unexplained = [];
    for (const { operation, args, request } of samples) {
      const [ours, theirs] = [speak(request, await formOf(request)), oracle(operation, args)];
      const differing = (Object.keys(ours) as (keyof Spoken)[]).filter((part) => !isSame(ours[part], theirs[part]));
      for (const part of differing) {
        if (!isExplained(part, { operation, args, ours, theirs }))
          unexplained.push({ operation: `${operation.method} ${operation.path}`, part, ours: ours[part], theirs: theirs[part] });
      }
    }
    expect(unexplained).toEqual([]);
    // Otherwise the samples are no valid arguments, and nothing was compared.
    expect(samples.length).toBeGreaterThan(chosen.length / 10);
  });
});
