import { setImmediate as nextTick } from 'node:timers/promises';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import pLimit, { type LimitFunction } from 'p-limit';
import type { JsonObject } from '../../../shared/json/json.ts';
import { createWorkerPool, jobOf, TookTooLong, TookTooMuchMemory } from '../../../workers/worker-pool.ts';
import { createTrialBudget, isSpent, type ConversionBudget } from '../conversion-budget.ts';
import type { FetchFile } from '../document/gather-files.ts';
import type { openDocumentInWorker, FromDocumentJob, ToDocumentJob } from './open-document-job.ts';
import type { PackedOperation } from '../convert/schemas/packed-schemas.ts';
import { openDocument, unpackDocument, type DocumentJob, type OpenedDocument } from './open-document.ts';
import { isJsonText } from '../document/parse-document.ts';
import { nestedValues } from '../document/resolve-references.ts';

/** Parsing and converting it, its files included: ten times what the largest real one takes. */
const documentReadingMs = 30_000;

/** For whom a document is read, and until when. */
export interface DocumentReader {
  /** `registered`: the document of a registered server; `requested`: that of a request. */
  kind: 'registered' | 'requested';
  /** Whose document it is: the server's id, or the caller's. The threads are shared among them. */
  caller: string;
  signal: AbortSignal;
}

/** JSON of this size takes about ten milliseconds. A thread takes about a hundred to start, but blocks nothing. */
const jsonCharacters = 64 * 1024;
/** YAML takes fifty times as long as JSON to parse. */
const yamlCharacters = 8 * 1024;
/** Loading the validator takes a tenth of a second. */
const checkedCharacters = 4 * 1024;
/** A text that needs more is an attack: it ends the thread and not the gateway. */
const threadMegabytes = 384;
const tooMuchMemory = `Reading this document takes more than ${threadMegabytes} MB of memory. A JSON document takes far less than a YAML document.`;
const tookTooLong = `reading it takes longer than ${documentReadingMs / 1000} s.`;
/** Apart from each other, so that no document of a request keeps a registration waiting. */
const pools = {
  registered: createWorkerPool({ threads: 2, megabytes: threadMegabytes }),
  requested: createWorkerPool({ threads: 2, megabytes: threadMegabytes }),
};
const openInWorker = jobOf<typeof openDocumentInWorker>(new URL('./open-document-job.ts', import.meta.url), 'openDocumentInWorker');
/** A thread works on a copy of the budget, so documents that share one are read one after the other. */
const turns = new WeakMap<ConversionBudget, LimitFunction>();

/**
 * As `openDocument`, but what takes long is done in a worker thread, because every stream would stand still meanwhile. Two threads work for
 * registered servers and two for requests, fair among callers; the other documents wait for their turn.
 * @throws Error as `openDocument` does, and when it takes too long or too much memory; the signal's reason, which also ends the work.
 */
export async function openForeignDocument(job: DocumentJob, fetchFile: FetchFile, reader: DocumentReader): Promise<OpenedDocument> {
  const { signal } = reader;
  signal.throwIfAborted();
  // An aborted request waits neither for its turn nor for a file.
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([aborted, turnOf(job.budget)(() => openHereOrInThread(job, fetchFile, reader))]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function turnOf(budget: ConversionBudget): LimitFunction {
  const turn = turns.get(budget) ?? pLimit(1);
  turns.set(budget, turn);
  return turn;
}

/**
 * One at a time: a validator compiles its schemas anew for each document, which takes tens of milliseconds however small that is. Of many that are
 * registered together, the others are checked in threads.
 */
let isCheckingHere = false;

/** A small document may take as long as a large one: it refers to itself again and again, or to files. Then a thread begins anew. */
async function openHereOrInThread(job: DocumentJob, fetchFile: FetchFile, reader: DocumentReader): Promise<OpenedDocument> {
  if (!isSmall(job) || (job.isChecked && isCheckingHere)) return openInThread(job, fetchFile, reader);
  isCheckingHere ||= job.isChecked;
  try {
    // Each in a tick of its own.
    if (job.isChecked) await nextTick();
    return await openHere(job, fetchFile, reader);
  } finally {
    if (job.isChecked) isCheckingHere = false;
  }
}

async function openHere(job: DocumentJob, fetchFile: FetchFile, reader: DocumentReader): Promise<OpenedDocument> {
  const { budget } = job;
  const before = createTrialBudget(budget);
  const trial = { ...before };
  let needsFiles = false;
  const opened = await openDocument({ ...job, budget: trial }, () => {
    needsFiles = true;
    return Promise.reject(new Error('files are read in a thread'));
  });
  // Where the trial had the whole budget, a thread has no more.
  const isCutShort = isSpent(trial) && (before.nodesLeft < budget.nodesLeft || before.valuesLeft < budget.valuesLeft);
  if (needsFiles || isCutShort) return openInThread(job, fetchFile, reader);
  for (const part of ['nodesLeft', 'valuesLeft', 'charactersLeft'] as const) budget[part] -= before[part] - trial[part];
  return opened;
}

/** An object was measured when it was parsed, and posting it to a thread costs as much as a small one is worth. */
function isSmall({ source, isChecked }: DocumentJob): boolean {
  const isText = !isObject(source);
  const characters = isText ? source.length : sizeOf(source);
  if (characters > jsonCharacters || (isChecked && characters > checkedCharacters)) return false;
  if (!isText || characters <= yamlCharacters) return true;
  return isJsonText(typeof source === 'string' ? source : new TextDecoder().decode(source.subarray(0, 200)));
}

function isObject(source: DocumentJob['source']): source is JsonObject {
  return typeof source !== 'string' && !(source instanceof Uint8Array);
}

/** Roughly, in characters of JSON, and not beyond what has to be known. */
function sizeOf(source: JsonObject): number {
  let characters = 0;
  for (const value of nestedValues(source)) {
    for (const [key, child] of Object.entries(value)) characters += key.length + (typeof child === 'string' ? child.length + 2 : 4);
    if (characters > jsonCharacters) break;
  }
  return characters;
}

async function openInThread(job: DocumentJob, fetchFile: FetchFile, { kind, caller, signal }: DocumentReader): Promise<OpenedDocument> {
  const { port1, port2 } = new MessageChannel();
  const operations: PackedOperation[] = [];
  port1.on('message', ({ id, url, operations: slice }: FromDocumentJob) => {
    if (url !== undefined) return void readFile(url, fetchFile).then((file) => post(port1, { id, ...file }));
    operations.push(...slice);
    // Everything else that waits comes first.
    return void setImmediate(() => post(port1, { id }));
  });
  try {
    const { opened, budget } = await pools[kind].run({
      job: openInWorker,
      // An object would lose the digits of an `ExactNumber`, and takes longer to send than its text.
      data: { job: isObject(job.source) ? { ...job, source: JSON.stringify(job.source) } : job, port: port2 },
      transfer: [port2, ...transferable(job)],
      caller,
      signal,
      timeoutMs: documentReadingMs,
    });
    Object.assign(job.budget, budget);
    return unpackDocument({ ...opened, conversion: { ...opened.conversion, operations } });
  } catch (error) {
    if (error instanceof TookTooLong) throw new Error(tookTooLong, { cause: error });
    if (error instanceof TookTooMuchMemory) throw new Error(tooMuchMemory, { cause: error });
    throw error;
  } finally {
    port1.close();
  }
}

/** Bytes are moved and not copied: nothing else uses them. */
function transferable({ source }: DocumentJob): ArrayBuffer[] {
  return source instanceof Uint8Array && source.buffer instanceof ArrayBuffer && source.byteLength === source.buffer.byteLength
    ? [source.buffer]
    : [];
}

function readFile(url: string, fetchFile: FetchFile): Promise<Omit<ToDocumentJob, 'id'>> {
  return fetchFile(url).then(
    (bytes) => ({ bytes }),
    (error: unknown) => ({ problem: error instanceof Error ? error.message : String(error) }),
  );
}

function post(port: MessagePort, message: ToDocumentJob): void {
  // eslint-disable-next-line unicorn/require-post-message-target-origin -- a port, not a window
  port.postMessage(message);
}
