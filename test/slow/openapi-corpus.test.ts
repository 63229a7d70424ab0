import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { afterAll, describe, expect, it } from 'vitest';
import { isJsonObject, type JsonObject } from '../../src/shared/json.ts';
import { buildRequest } from '../../src/tools/openapi/call/build-request.ts';
import { createRegisteredBudget } from '../../src/tools/openapi/convert/conversion-budget.ts';
import { convertOperations, type Operation } from '../../src/tools/openapi/convert/convert-operations.ts';
import { gatherFiles } from '../../src/tools/openapi/load/gather-files.ts';
import { openDocumentAside } from '../../src/tools/openapi/load/open-document-aside.ts';
import { parseDocument } from '../../src/tools/openapi/load/parse-document.ts';
import { serverBaseUrl } from '../../src/tools/openapi/load/server-base-url.ts';
import { findLosses } from '../_support/find-losses.ts';
import { inlineNaively, inlineWithAnswer, naiveText } from '../_support/inline-naively.ts';
import { leastForm } from '../_support/least-form.ts';

/** A folder of real documents. Without it this file is skipped. */
const folder = process.env['OPENAPI_CORPUS'];
const files = folder === undefined ? [] : documentsIn(folder);
const methods = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options', 'trace', 'query'];
/** The slowest one takes a fifth of this; the limit is there to notice what grows without measure. */
const maxConversionMs = 3_000;
/** Documents of applications that people run at home. */
const homelab =
  /adguard|audiobookshelf|docker|forgejo|gotify|grocy|immich|mealie|nextcloud|ollama|opensubsonic|paperless|photoprism|seerr|sonarr|traccar/;
/**
 * What is saved at least, over all of these. The saving is what repetition, titles, redundant patterns and the like took; no field is ever left out.
 * Most of these documents refer to little that is large, so that names, types and words are what is left: `leastForm` shows how far it could go.
 */
const leastSaving = 0.17;
/** The same beside what is sent with the schemas of answers, which are left out here: a model reads the answer itself. */
const leastSavingWithAnswers = 0.8;
/** What no form of these functions saves that keeps the words of operations and parameters. */
const largestSaving = 0.35;
const root = 'http://corpus.test/';
const never = new AbortController().signal;

interface Row {
  document: string;
  operations: number;
  functions: number;
  omissions: number;
  bytes: number;
  tokens: number;
  naive: number;
  /** As `naive`, with the schemas of answers. */
  answers: number;
  /** Of the smallest form that keeps what must not be lost. */
  least: number;
  milliseconds: number;
}
const rows: Row[] = [];

/** Documents in the folder itself, and those that lie in one of their own with the files that they consist of. */
function documentsIn(place: string): string[] {
  const entries = readdirSync(place, { withFileTypes: true });
  const nested = entries.filter((entry) => entry.isDirectory()).map(({ name }) => `${name}/openapi.json`);
  return [...entries.filter((entry) => entry.isFile() && /\.(?:json|ya?ml)$/.test(entry.name)).map(({ name }) => name), ...nested];
}

async function fetchFile(url: string): Promise<Uint8Array> {
  return new Uint8Array(await readFile(join(folder ?? '', decodeURIComponent(new URL(url).pathname))));
}

async function read(name: string): Promise<JsonObject> {
  const document = parseDocument(readFileSync(join(folder ?? '', name), 'utf8'));
  await gatherFiles(document, root + name, { fetchFile });
  return document;
}

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

/** A value of the right type for each required argument. */
function someArguments({ spec, places, body }: Operation): JsonObject {
  const properties = isJsonObject(spec.parameters['properties']) ? spec.parameters['properties'] : {};
  const required = places.filter(({ isRequired }) => isRequired);
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

function tokensOf(text: string): number {
  return countTokens(text, { allowedSpecial: 'all' });
}

describe('the documents of OPENAPI_CORPUS', () => {
  it.skipIf(folder === undefined)('are there', () => {
    expect(files.length).toBeGreaterThan(0);
  });

  it.each(files)('%s: every operation is a function or is reported', async (name) => {
    const bytes = new Uint8Array(readFileSync(join(folder ?? '', name)));
    const size = bytes.byteLength;
    const started = performance.now();
    const job = { source: bytes, url: root + name, budget: createRegisteredBudget(), isChecked: false };
    const { conversion } = await openDocumentAside(job, fetchFile, { kind: 'registered', caller: 'corpus', signal: never });
    const milliseconds = performance.now() - started;
    const { operations, omitted } = conversion;

    const document = await read(name);
    const before = JSON.stringify(document);
    const convertingSince = performance.now();
    expect(convertOperations(document).operations).toEqual(operations);
    expect(performance.now() - convertingSince).toBeLessThan(maxConversionMs);
    expect(JSON.stringify(document)).toBe(before);

    const known = [...operations.map(({ method, path }) => `${method} ${path}`), ...omitted.map(({ operation }) => operation)];
    expect(known.sort()).toEqual(declared(document).sort());
    expect(operations.length).toBeGreaterThan(0);
    const names = operations.map(({ spec }) => spec.name);
    expect(new Set(names).size).toBe(names.length);
    for (const functionName of names) expect(functionName).toMatch(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/);

    const tokens = operations.map(({ spec }) => tokensOf(JSON.stringify({ type: 'function', function: spec })));
    const naive = operations.map((operation) => tokensOf(naiveText(inlineNaively(document, operation))));
    const answers = operations.map((operation) => tokensOf(naiveText(inlineWithAnswer(document, operation))));
    const least = operations.map((operation) => tokensOf(JSON.stringify({ type: 'function', function: leastForm(operation) })));
    const sum = (numbers: number[]): number => numbers.reduce((total, one) => total + one, 0);
    rows.push({
      document: name,
      operations: known.length,
      functions: operations.length,
      omissions: omitted.length,
      bytes: size,
      tokens: sum(tokens),
      naive: sum(naive),
      answers: sum(answers),
      least: sum(least),
      milliseconds: Math.round(milliseconds),
    });
  });

  it.each(files)('%s: no parameter, description, required field, type or choice is lost', async (name) => {
    const document = await read(name);
    expect(convertOperations(document).operations.flatMap((operation) => findLosses(document, operation))).toEqual([]);
  });

  it.each(files)('%s: every function is a JSON Schema, and its request stays on the server', async (name) => {
    const document = await read(name);
    const base = serverBaseUrl(document, 'http://tools.test:8000', undefined);
    const ajv = new Ajv2020({ strict: false, validateFormats: false, code: { regExp: Object.assign(() => /x/u, { code: 'any' }) } });
    for (const operation of convertOperations(document).operations) {
      expect(ajv.validateSchema(operation.spec.parameters), `${operation.operationId}: ${ajv.errorsText()}`).toBe(true);
      const request = buildRequest(operation, someArguments(operation), base);
      expect(request.url.startsWith(`${base}/`)).toBe(true);
      expect(request.url).not.toMatch(/[{}]/);
    }
  });

  const ofHome = (figure: 'tokens' | 'naive' | 'answers' | 'least'): number =>
    rows.filter(({ document }) => homelab.test(document)).reduce((sum, row) => sum + row[figure], 0);

  it.skipIf(folder === undefined)('cost fewer tokens than they would with every reference written out', () => {
    expect(ofHome('naive')).toBeGreaterThan(0);
    expect(1 - ofHome('tokens') / ofHome('naive')).toBeGreaterThan(leastSaving);
    expect(1 - ofHome('tokens') / ofHome('answers')).toBeGreaterThan(leastSavingWithAnswers);
  });

  it.skipIf(folder === undefined)('could not cost much fewer without losing what a call needs', () => {
    expect(ofHome('least')).toBeGreaterThan(0);
    expect(1 - ofHome('least') / ofHome('naive')).toBeLessThan(largestSaving);
  });
});

/** For people: what became of each document. */
afterAll(() => {
  if (rows.length === 0) return;
  const total = (document: string, of: Row[]): Row => {
    const sum = (figure: keyof Omit<Row, 'document'>): number => of.reduce((result, row) => result + row[figure], 0);
    const figures = (['operations', 'functions', 'omissions', 'bytes', 'tokens', 'naive', 'answers', 'least', 'milliseconds'] as const).map(
      (key) => [key, sum(key)],
    );
    return { document, ...Object.fromEntries(figures) } as Row;
  };
  const all = [
    ...rows,
    total(
      'homelab',
      rows.filter(({ document }) => homelab.test(document)),
    ),
    total('all', rows),
  ];
  const heading = [
    'document',
    'operations',
    'functions',
    'omissions',
    'bytes',
    'tokens',
    'naive',
    'fewer',
    'with answers',
    'fewer',
    'least',
    'ms',
  ];
  const cells = all.map((row) => {
    const { document, operations, functions, omissions, bytes, tokens, naive, answers, least, milliseconds } = row;
    const fewer = (bar: number): string => `${Math.round(100 * (1 - tokens / bar))} %`;
    const counts = [operations, functions, omissions, bytes, tokens, naive].map(String);
    return [document, ...counts, fewer(naive), String(answers), fewer(answers), String(least), String(milliseconds)];
  });
  const widths = heading.map((word, column) => Math.max(word.length, ...cells.map((row) => row[column]?.length ?? 0)));
  const lines = [heading, ...cells].map((row) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0))).join('  '),
  );
  process.stdout.write(`\n${lines.join('\n')}\n`);
});
