import { parentPort, workerData } from 'node:worker_threads';
import { openDocument, type DocumentJob, type OpenedDocument } from './open-document.ts';
import type { Operation } from './operation.ts';
import type { FromThread, ToThread } from './open-document-aside.ts';

/** The body of the thread that `open-document-aside` starts. It has no network: files are asked for, and the other side decides. */
const port = parentPort;
const waiting = new Map<string, { resolve: (bytes: Uint8Array) => void; reject: (error: Error) => void }>();

function post(message: FromThread): void {
  // eslint-disable-next-line unicorn/require-post-message-target-origin -- the port of a thread, not a window
  port?.postMessage(message);
}

function fetchFile(url: string): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    waiting.set(url, { resolve, reject });
    post({ type: 'file-wanted', url });
  });
}

let sendMore: (() => void) | undefined;
/** About as much as a millisecond reads; a single function may be larger. */
const sliceCharacters = 100_000;

port?.on('message', (message: ToThread) => {
  if (message.type === 'more-wanted') return sendMore?.();
  const asked = waiting.get(message.url);
  waiting.delete(message.url);
  if (message.bytes === undefined) asked?.reject(new Error(message.problem));
  else asked?.resolve(message.bytes);
});

/** Each slice waits until the one before is taken. */
async function postConverted({ conversion }: OpenedDocument): Promise<void> {
  for (const operations of slicesOf(conversion.operations)) {
    const { promise: isTaken, resolve } = Promise.withResolvers<void>();
    sendMore = resolve;
    post({ type: 'converted', operations });
    await isTaken;
  }
}

function* slicesOf(operations: readonly Operation[]): Generator<Operation[]> {
  let slice: Operation[] = [];
  let characters = 0;
  for (const operation of operations) {
    slice.push(operation);
    characters += JSON.stringify(operation).length;
    if (characters < sliceCharacters) continue;
    yield slice;
    slice = [];
    characters = 0;
  }
  if (slice.length > 0) yield slice;
}

const job = workerData as DocumentJob;
try {
  const opened = await openDocument(job, fetchFile);
  await postConverted(opened);
  post({ type: 'opened', opened: { ...opened, conversion: { ...opened.conversion, operations: [] } }, budget: job.budget });
} catch (error) {
  post({ type: 'failed', problem: error instanceof Error ? error.message : String(error) });
}
// An open port keeps the thread alive.
port?.close();
