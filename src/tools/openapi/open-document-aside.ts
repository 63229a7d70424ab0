import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import pLimit, { type LimitFunction } from 'p-limit';
import { createTrialBudget, isSpent, type ConversionBudget } from './conversion-budget.ts';
import type { FetchFile } from './gather-files.ts';
import type { Operation } from './operation.ts';
import { openDocument, type DocumentJob, type OpenedDocument } from './open-document.ts';
import { isJsonText } from './parse-document.ts';

/** What was converted comes in slices, each asked for, and `opened` after them without it: to read all of it at once is to stand still. */
export type FromThread =
  | { type: 'file-wanted'; url: string }
  | { type: 'converted'; operations: Operation[] }
  | { type: 'opened'; opened: OpenedDocument; budget: ConversionBudget }
  | { type: 'failed'; problem: string };
export type ToThread =
  | { type: 'file'; url: string; bytes: Uint8Array; problem?: undefined }
  | { type: 'file'; url: string; bytes?: undefined; problem: string }
  | { type: 'more-wanted' };

/** What takes about ten milliseconds; a thread takes about a hundred to start, in which everything else goes on. */
const jsonCharacters = 64 * 1024;
/** YAML takes fifty times as long as JSON to parse. */
const yamlCharacters = 8 * 1024;
/** A validator takes a tenth of a second to load alone. */
const checkedCharacters = 4 * 1024;
/** A text that needs more is an attack: the thread ends, and the gateway goes on. */
const threadMegabytes = 384;
const tooMuchMemory = `Reading this document takes more than ${threadMegabytes} MB of memory. As JSON a document takes far less than as YAML.`;
/** What a thread has to end by itself after its work. */
const lingerMs = 1_000;
/** For the whole process: one request may bring many documents, and each thread may take all that memory. */
const threads = pLimit(2);
/** A thread works on a copy of the budget, so documents that share one are read one after the other. */
const turns = new WeakMap<ConversionBudget, LimitFunction>();

/**
 * As `openDocument`, but what takes long is done in a thread of its own, because every stream would stand still meanwhile.
 * At most two threads run at a time; the others wait for their turn.
 * @throws Error as `openDocument` does; the signal's reason, which also ends the thread.
 */
export async function openDocumentAside(job: DocumentJob, fetchFile: FetchFile, signal: AbortSignal): Promise<OpenedDocument> {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    // Whoever leaves does not wait for a turn, nor for a file.
    return await Promise.race([promise, turnOf(job.budget)(() => openHereOrAside(job, fetchFile, signal))]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function turnOf(budget: ConversionBudget): LimitFunction {
  const turn = turns.get(budget) ?? pLimit(1);
  turns.set(budget, turn);
  return turn;
}

/** A small document may take as long as a large one: it refers to itself again and again, or to files. Then a thread begins anew. */
async function openHereOrAside(job: DocumentJob, fetchFile: FetchFile, signal: AbortSignal): Promise<OpenedDocument> {
  if (!isSmall(job)) return threads(() => openInThread(job, fetchFile, signal));
  const { budget } = job;
  const before = createTrialBudget(budget);
  const trial = { ...before };
  const files = rememberFiles(fetchFile);
  const opened = await openDocument({ ...job, budget: trial }, files.fetchSmall);
  // Where it had all that there is, a thread has no more.
  const isCutShort = isSpent(trial) && (before.nodesLeft < budget.nodesLeft || before.valuesLeft < budget.valuesLeft);
  if (isCutShort || files.areLarge()) return threads(() => openInThread(job, files.fetchOnce, signal));
  for (const part of ['nodesLeft', 'valuesLeft', 'charactersLeft'] as const) budget[part] -= before[part] - trial[part];
  return opened;
}

/** Fetches each file once. `fetchSmall` rejects when all files together are no longer small. */
function rememberFiles(fetchFile: FetchFile): { fetchOnce: FetchFile; fetchSmall: FetchFile; areLarge(): boolean } {
  const fetched = new Map<string, Promise<Uint8Array>>();
  let characters = 0;
  const fetchOnce: FetchFile = (url) => {
    const known = fetched.get(url) ?? fetchFile(url);
    fetched.set(url, known);
    return known;
  };
  const areLarge = (): boolean => characters > jsonCharacters;
  return {
    fetchOnce,
    async fetchSmall(url) {
      const bytes = await fetchOnce(url);
      characters += isJsonText(beginningOf(bytes)) ? bytes.byteLength : bytes.byteLength * (jsonCharacters / yamlCharacters);
      if (areLarge()) throw new Error('the files of the document are read in a thread');
      return bytes;
    },
    areLarge,
  };
}

function beginningOf(source: string | Uint8Array): string {
  return typeof source === 'string' ? source.slice(0, 200) : new TextDecoder().decode(source.subarray(0, 200));
}

/** An object was measured by whoever parsed it, and posting it to a thread costs as much as a small one is worth. */
function isSmall({ source, isChecked }: DocumentJob): boolean {
  const characters = typeof source === 'string' ? source.length : source instanceof Uint8Array ? source.byteLength : sizeOf(source);
  if (characters > jsonCharacters || (isChecked && characters > checkedCharacters)) return false;
  if (typeof source !== 'string' && !(source instanceof Uint8Array)) return true;
  return characters <= yamlCharacters || isJsonText(beginningOf(source));
}

/** Roughly, in characters of JSON, and not beyond what has to be known. */
function sizeOf(source: object): number {
  const waiting: unknown[] = [source];
  let characters = 0;
  while (waiting.length > 0 && characters <= jsonCharacters) {
    const value = waiting.pop();
    characters += typeof value === 'string' ? value.length + 2 : 4;
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, child] of Object.entries(value)) {
      characters += key.length;
      waiting.push(child);
    }
  }
  return characters;
}

async function openInThread(job: DocumentJob, fetchFile: FetchFile, signal: AbortSignal): Promise<OpenedDocument> {
  signal.throwIfAborted();
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const worker = new Worker(new URL(`./open-document-thread.${extension}`, import.meta.url), {
    workerData: job,
    transferList: transferable(job),
    resourceLimits: { maxOldGenerationSizeMb: threadMegabytes },
  });
  const { promise, resolve, reject } = Promise.withResolvers<OpenedDocument>();
  const onAbort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  const operations: Operation[] = [];
  worker.on('message', (message: FromThread) => {
    switch (message.type) {
      case 'file-wanted':
        return void answerThread(worker, message.url, fetchFile);
      case 'converted':
        operations.push(...message.operations);
        // Whatever else waits comes first.
        return void setImmediate(() => post(worker, { type: 'more-wanted' }));
      case 'failed':
        return reject(new Error(message.problem));
      case 'opened': {
        Object.assign(job.budget, message.budget);
        const { opened } = message;
        return resolve({ ...opened, conversion: { ...opened.conversion, operations } });
      }
    }
  });
  worker.once('error', (error) => reject(isOutOfMemory(error) ? new Error(tooMuchMemory, { cause: error }) : error));
  const exited = once(worker, 'exit').catch(() => undefined);
  void exited.then(() => reject(new Error('The document could not be read.')));
  try {
    const opened = await promise;
    // It ends by itself: to be stopped amid its work is hard on a thread, and only for those that do not end.
    await Promise.race([exited, pause(lingerMs, undefined, { ref: false })]);
    return opened;
  } finally {
    signal.removeEventListener('abort', onAbort);
    await worker.terminate();
  }
}

/** Bytes are handed over and not copied: whoever gave them does not use them again. */
function transferable({ source }: DocumentJob): ArrayBuffer[] {
  return source instanceof Uint8Array && source.buffer instanceof ArrayBuffer && source.byteLength === source.buffer.byteLength
    ? [source.buffer]
    : [];
}

async function answerThread(worker: Worker, url: string, fetchFile: FetchFile): Promise<void> {
  const answer: ToThread = await fetchFile(url).then(
    (bytes) => ({ type: 'file', url, bytes }),
    (error: unknown) => ({ type: 'file', url, problem: error instanceof Error ? error.message : String(error) }),
  );
  post(worker, answer);
}

function post(worker: Worker, message: ToThread): void {
  // eslint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  worker.postMessage(message);
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
}
