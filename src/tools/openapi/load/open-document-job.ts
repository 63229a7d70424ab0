import type { MessagePort } from 'node:worker_threads';
import type { ConversionBudget } from '../conversion-budget.ts';
import type { PackedOperation } from '../convert/schemas/packed-schemas.ts';
import { packDocument, type DocumentJob, type PackedDocument } from './open-document.ts';

/** A file is requested, or a slice of the operations is sent: to read all of them at once would stop everything else. Both are answered by their id. */
export type FromDocumentJob = { id: number } & (
  | { url: string; operations?: undefined }
  | { url?: undefined; operations: PackedOperation[] }
);
/** `bytes` or `problem` of a file; neither of a slice. */
export interface ToDocumentJob {
  id: number;
  bytes?: Uint8Array;
  problem?: string;
}

/** About as much as a millisecond reads. */
const sliceCharacters = 100_000;

/**
 * `packDocument` in a worker thread, for `open-document-in-pool`. It has no network: files are requested at the port, and the
 * main thread decides. The operations go to the port too; all else is the result.
 */
export async function openDocumentInWorker({
  job,
  port,
}: {
  job: DocumentJob;
  port: MessagePort;
}): Promise<{ opened: PackedDocument; budget: ConversionBudget }> {
  const request = requestsAt(port);
  try {
    const opened = await packDocument(job, (url) => request({ url }));
    for (const operations of slicesOf(opened.conversion.operations)) await request({ operations });
    return { opened: { ...opened, conversion: { ...opened.conversion, operations: [] } }, budget: job.budget };
  } finally {
    port.close();
  }
}

function requestsAt(port: MessagePort): (request: { url: string } | { operations: PackedOperation[] }) => Promise<Uint8Array> {
  const waiting = new Map<number, PromiseWithResolvers<Uint8Array>>();
  let lastId = 0;
  port.on('message', ({ id, bytes = new Uint8Array(), problem }: ToDocumentJob) => {
    if (problem === undefined) waiting.get(id)?.resolve(bytes);
    else waiting.get(id)?.reject(new Error(problem));
    waiting.delete(id);
  });
  return (request) => {
    const answer = Promise.withResolvers<Uint8Array>();
    lastId += 1;
    waiting.set(lastId, answer);
    // eslint-disable-next-line unicorn/require-post-message-target-origin -- a port, not a window
    port.postMessage({ id: lastId, ...request });
    return answer.promise;
  };
}

function* slicesOf(operations: readonly PackedOperation[]): Generator<PackedOperation[]> {
  let slice: PackedOperation[] = [];
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
