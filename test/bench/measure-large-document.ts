import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { adminKey, startGateway } from './gateway-process.ts';
import type { Gateway } from './gateway-process.ts';
import { watchHealth } from './watch-health.ts';

export interface LargeDocument {
  document: string;
  megabytes: number;
  functions: number;
  omitted: number;
  /** From the registration to its answer, which holds the functions. */
  loadedMs: number;
  /** The slowest `/health` meanwhile, and how many were asked. */
  slowestHealthMs: number;
  healthQuestions: number;
  /** After a collection, less what the gateway held before; undefined where there is no such signal. */
  addedMb: number | undefined;
  addedHeapMb: number | undefined;
}

interface Memory {
  rss: number;
  heapUsed: number;
}

const giveUpMs = 60_000;
const megabyte = 1024 * 1024;

/**
 * Registers a document of 13 MB with a fresh gateway, and asks for `/health` as often as it answers meanwhile. The document is GitHub's, where
 * `OPENAPI_CORPUS` names a folder that has it, else one of the same size and shape.
 */
export async function measureLargeDocument(backendUrl: string, folder: string): Promise<LargeDocument> {
  const { name, bytes } = largeDocument();
  const server = createServer((_, response) => response.writeHead(200, { 'content-type': 'application/json' }).end(bytes));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const gateway = await startGateway({ file: fileURLToPath(new URL('collecting-gateway.ts', import.meta.url)), backendUrl, folder });
  try {
    // A first small one, so that what is loaded once is not counted.
    readAnswer(await register(gateway, { url: `http://127.0.0.1:${port}`, spec: { openapi: '3.1.0', paths: {} }, info: { id: 'small' } }));
    const before = await memoryOf(gateway, folder);
    const health = watchHealth(gateway);
    const began = performance.now();
    const answer = await register(gateway, { url: `http://127.0.0.1:${port}`, info: { id: 'large' } });
    const loadedMs = performance.now() - began;
    const { slowestMs, questions } = await health.end();
    const counted = readAnswer(answer);
    const after = await memoryOf(gateway, folder);
    const added = (figure: keyof Memory): number | undefined =>
      before === undefined || after === undefined ? undefined : (after[figure] - before[figure]) / megabyte;
    return {
      document: name,
      megabytes: bytes.byteLength / 1_000_000,
      ...counted,
      loadedMs,
      slowestHealthMs: slowestMs,
      healthQuestions: questions,
      addedMb: added('rss'),
      addedHeapMb: added('heapUsed'),
    };
  } finally {
    await gateway.end();
    server.close();
  }
}

function largeDocument(): { name: string; bytes: Buffer } {
  const corpus = process.env['OPENAPI_CORPUS'];
  const file = corpus === undefined ? undefined : join(corpus, 'github-rest.json');
  if (file !== undefined && existsSync(file)) return { name: 'github-rest.json', bytes: readFileSync(file) };
  const text = { type: 'string', description: 'A text of some length, as documents have them.', example: 'x'.repeat(400) };
  const schemas = Object.fromEntries(
    Array.from({ length: 900 }, (_, index) => {
      const properties = Object.fromEntries(Array.from({ length: 14 }, (_unused, property) => [`field_${property}`, text]));
      const next = index % 6 === 5 ? {} : { next: { $ref: `#/components/schemas/Thing${index + 1}` } };
      return [`Thing${index}`, { type: 'object', properties: { ...properties, ...next } }];
    }),
  );
  const paths = Object.fromEntries(
    Array.from({ length: 1_200 }, (_, index) => {
      const schema = { $ref: `#/components/schemas/Thing${index % 900}` };
      const content = { 'application/json': { schema, examples: { one: { value: { text: 'y'.repeat(3_000) } } } } };
      return [
        `/things/${index}`,
        { post: { operationId: `things/change-${index}`, requestBody: { content }, responses: { 200: { description: 'ok', content } } } },
      ];
    }),
  );
  return {
    name: 'made up',
    bytes: Buffer.from(JSON.stringify({ openapi: '3.0.3', info: { title: 'Large', version: '1' }, paths, components: { schemas } })),
  };
}

/** The answer as it came: reading a megabyte of JSON meanwhile would hold up the questions of this process, and be counted as the gateway's. */
async function register(gateway: Gateway, connection: object): Promise<Buffer> {
  const response = await fetch(`${gateway.url}/api/tool-servers`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(connection),
    signal: AbortSignal.timeout(giveUpMs),
  });
  return Buffer.from(await response.arrayBuffer());
}

function readAnswer(bytes: Buffer): { functions: number; omitted: number } {
  const answer = JSON.parse(bytes.toString()) as { report?: { ok: boolean; error?: string; functions: unknown[]; omitted: unknown[] } };
  if (answer.report?.ok !== true)
    throw new Error(`The document was not loaded: ${answer.report?.error ?? JSON.stringify(answer).slice(0, 500)}`);
  return { functions: answer.report.functions.length, omitted: answer.report.omitted.length };
}

async function memoryOf({ pid }: Gateway, folder: string): Promise<Memory | undefined> {
  if (process.platform === 'win32') return undefined;
  const file = join(folder, `memory-${pid}.json`);
  rmSync(file, { force: true });
  // A thread that has ended gives its memory back a moment later.
  await pause(500);
  process.kill(pid, 'SIGWINCH');
  for (const deadline = performance.now() + 5_000; performance.now() < deadline; await pause(20)) {
    if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as Memory;
  }
  return undefined;
}
