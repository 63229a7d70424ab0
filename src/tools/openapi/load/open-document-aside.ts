import { MessageChannel, type MessagePort } from 'node:worker_threads';
import pLimit, { type LimitFunction } from 'p-limit';
import { limits } from '../../../core/limits.ts';
import { createWorkerPool, jobOf, TookTooLong, TookTooMuchMemory } from '../../../workers/worker-pool.ts';
import { createTrialBudget, isSpent, type ConversionBudget } from '../convert/conversion-budget.ts';
import type { FetchFile } from './gather-files.ts';
import type { openDocumentInWorker, FromDocumentJob, ToDocumentJob } from './open-document-job.ts';
import type { Operation } from '../operation.ts';
import { openDocument, type DocumentJob, type OpenedDocument } from './open-document.ts';
import { isJsonText } from './parse-document.ts';

/** Who wants the document, and until when. */
export interface DocumentReader {
  /** `registered`: for the gateway's own servers, by administrators and refreshes; else a request's own document. */
  kind: 'registered' | 'requested';
  /** Whose document it is: the server's id, or the caller's. Threads are shared out among them. */
  caller: string;
  signal: AbortSignal;
}

/** What takes about ten milliseconds; a thread takes about a hundred to start, in which everything else goes on. */
const jsonCharacters = 64 * 1024;
/** YAML takes fifty times as long as JSON to parse. */
const yamlCharacters = 8 * 1024;
/** A validator takes a tenth of a second to load alone. */
const checkedCharacters = 4 * 1024;
/** A text that needs more is an attack: the thread ends, and the gateway goes on. */
const threadMegabytes = 384;
const tooMuchMemory = `Reading this document takes more than ${threadMegabytes} MB of memory. As JSON a document takes far less than as YAML.`;
const tookTooLong = `reading it takes longer than ${limits.documentReadingMs / 1000} s.`;
/** Apart from each other, so that no document of a request keeps a registration waiting. */
const pools = {
  registered: createWorkerPool({ threads: 2, megabytes: threadMegabytes }),
  requested: createWorkerPool({ threads: 2, megabytes: threadMegabytes }),
};
const openInWorker = jobOf<typeof openDocumentInWorker>(import.meta.url, './open-document-job', 'openDocumentInWorker');
/** A thread works on a copy of the budget, so documents that share one are read one after the other. */
const turns = new WeakMap<ConversionBudget, LimitFunction>();

/**
 * As `openDocument`, but what takes long is done in a worker thread, because every stream would stand still meanwhile. Two threads work for
 * registered servers and two for requests, fair among callers; the other documents wait for their turn.
 * @throws Error as `openDocument` does, and when it takes too long or too much memory; the signal's reason, which also ends the work.
 */
export async function openDocumentAside(job: DocumentJob, fetchFile: FetchFile, reader: DocumentReader): Promise<OpenedDocument> {
  const { signal } = reader;
  signal.throwIfAborted();
  // Whoever leaves does not wait for a turn, nor for a file.
  return untilAborted(signal, () => turnOf(job.budget)(() => openHereOrAside(job, fetchFile, reader)));
}

async function untilAborted<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([promise, work()]);
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
async function openHereOrAside(job: DocumentJob, fetchFile: FetchFile, reader: DocumentReader): Promise<OpenedDocument> {
  if (!isSmall(job)) return openInThread(job, fetchFile, reader);
  const { budget } = job;
  const before = createTrialBudget(budget);
  const trial = { ...before };
  const files = rememberFiles(fetchFile);
  const opened = await withinReadingTime(() => openDocument({ ...job, budget: trial }, files.fetchSmall));
  // Where it had all that there is, a thread has no more.
  const isCutShort = isSpent(trial) && (before.nodesLeft < budget.nodesLeft || before.valuesLeft < budget.valuesLeft);
  if (isCutShort || files.areLarge()) return openInThread(job, files.fetchOnce, reader);
  for (const part of ['nodesLeft', 'valuesLeft', 'charactersLeft'] as const) budget[part] -= before[part] - trial[part];
  return opened;
}

/** Here it is only files that can take so long. */
async function withinReadingTime(open: () => Promise<OpenedDocument>): Promise<OpenedDocument> {
  const timer = new AbortController();
  const timeout = setTimeout(() => timer.abort(new Error(tookTooLong)), limits.documentReadingMs);
  try {
    return await untilAborted(timer.signal, open);
  } finally {
    clearTimeout(timeout);
  }
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

async function openInThread(job: DocumentJob, fetchFile: FetchFile, { kind, caller, signal }: DocumentReader): Promise<OpenedDocument> {
  const { port1, port2 } = new MessageChannel();
  const operations: Operation[] = [];
  port1.on('message', (message: FromDocumentJob) => {
    if (message.type === 'file-wanted') return void answerJob(port1, message.url, fetchFile);
    operations.push(...message.operations);
    // Whatever else waits comes first.
    return void setImmediate(() => post(port1, { type: 'more-wanted' }));
  });
  try {
    const { opened, budget } = await pools[kind].run({
      job: openInWorker,
      data: { job, port: port2 },
      transfer: [port2, ...transferable(job)],
      caller,
      signal,
      timeoutMs: limits.documentReadingMs,
    });
    Object.assign(job.budget, budget);
    return { ...opened, conversion: { ...opened.conversion, operations } };
  } catch (error) {
    if (error instanceof TookTooLong) throw new Error(tookTooLong, { cause: error });
    if (error instanceof TookTooMuchMemory) throw new Error(tooMuchMemory, { cause: error });
    throw error;
  } finally {
    port1.close();
  }
}

/** Bytes are handed over and not copied: whoever gave them does not use them again. */
function transferable({ source }: DocumentJob): ArrayBuffer[] {
  return source instanceof Uint8Array && source.buffer instanceof ArrayBuffer && source.byteLength === source.buffer.byteLength
    ? [source.buffer]
    : [];
}

async function answerJob(port: MessagePort, url: string, fetchFile: FetchFile): Promise<void> {
  const answer: ToDocumentJob = await fetchFile(url).then(
    (bytes) => ({ type: 'file', url, bytes }),
    (error: unknown) => ({ type: 'file', url, problem: error instanceof Error ? error.message : String(error) }),
  );
  post(port, answer);
}

function post(port: MessagePort, message: ToDocumentJob): void {
  // eslint-disable-next-line unicorn/require-post-message-target-origin -- a port, not a window
  port.postMessage(message);
}
