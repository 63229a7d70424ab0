import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JsonObject } from '../../src/shared/json/json.ts';
import { createRegisteredBudget } from '../../src/tools/openapi/conversion-budget.ts';
import { gatherFiles } from '../../src/tools/openapi/document/gather-files.ts';
import { openForeignDocument } from '../../src/tools/openapi/load/open-foreign-document.ts';
import { parseDocument } from '../../src/tools/openapi/document/parse-document.ts';

/** A folder of real documents, where `OPENAPI_CORPUS` names one. */
const folder = process.env['OPENAPI_CORPUS'];
const root = 'http://corpus.test/';
const never = new AbortController().signal;

/** Documents in the folder itself, and those that lie in one of their own with the files that they consist of. */
export function corpusFiles(): string[] {
  if (folder === undefined) return [];
  const entries = readdirSync(folder, { withFileTypes: true });
  const nested = entries.filter((entry) => entry.isDirectory()).map(({ name }) => `${name}/openapi.json`);
  return [...entries.filter((entry) => entry.isFile() && /\.(?:json|ya?ml)$/.test(entry.name)).map(({ name }) => name), ...nested];
}

async function fetchFile(url: string): Promise<Uint8Array> {
  return new Uint8Array(await readFile(join(folder ?? '', decodeURIComponent(new URL(url).pathname))));
}

export async function readCorpusDocument(name: string): Promise<JsonObject> {
  const document = parseDocument(readFileSync(join(folder ?? '', name), 'utf8'));
  await gatherFiles(document, root + name, { fetchFile });
  return document;
}

/** As the gateway opens the document of a registered server. */
export function openCorpusDocument(name: string): ReturnType<typeof openForeignDocument> {
  const source = new Uint8Array(readFileSync(join(folder ?? '', name)));
  const job = { source, url: root + name, budget: createRegisteredBudget(), isChecked: false };
  return openForeignDocument(job, fetchFile, { kind: 'registered', caller: 'corpus', signal: never });
}
