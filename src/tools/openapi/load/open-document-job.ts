import type { MessagePort } from 'node:worker_threads';
import type { ConversionBudget } from '../convert/conversion-budget.ts';
import type { FetchFile } from './gather-files.ts';
import { openDocument, type DocumentJob, type OpenedDocument } from './open-document.ts';
import type { Operation } from '../operation.ts';

/** What was converted goes in slices, each asked for: to read all of it at once is to stand still. */
export type FromDocumentJob = { type: 'file-wanted'; url: string } | { type: 'converted'; operations: Operation[] };
export type ToDocumentJob =
  | { type: 'file'; url: string; bytes: Uint8Array; problem?: undefined }
  | { type: 'file'; url: string; bytes?: undefined; problem: string }
  | { type: 'more-wanted' };

/** About as much as a millisecond reads; a single function may be larger. */
const sliceCharacters = 100_000;

/**
 * `openDocument` in a worker thread, for `open-document-aside`. It has no network: files are asked for at the port, and the other side decides.
 * The operations go to the port, all else is the result.
 */
export async function openDocumentInWorker({
  job,
  port,
}: {
  job: DocumentJob;
  port: MessagePort;
}): Promise<{ opened: OpenedDocument; budget: ConversionBudget }> {
  const other = talkTo(port);
  try {
    const opened = await openDocument(job, other.fetchFile);
    for (const slice of slicesOf(opened.conversion.operations)) await other.hand(slice);
    return { opened: { ...opened, conversion: { ...opened.conversion, operations: [] } }, budget: job.budget };
  } finally {
    port.close();
  }
}

function talkTo(port: MessagePort): { fetchFile: FetchFile; hand(operations: Operation[]): Promise<void> } {
  const wanted = new Map<string, PromiseWithResolvers<Uint8Array>>();
  let sendMore: (() => void) | undefined;
  port.on('message', (message: ToDocumentJob) => {
    if (message.type === 'more-wanted') return sendMore?.();
    const asked = wanted.get(message.url);
    wanted.delete(message.url);
    if (message.bytes === undefined) asked?.reject(new Error(message.problem));
    else asked?.resolve(message.bytes);
  });
  const post = (message: FromDocumentJob): void => {
    // eslint-disable-next-line unicorn/require-post-message-target-origin -- a port, not a window
    port.postMessage(message);
  };
  return {
    fetchFile(url) {
      const file = Promise.withResolvers<Uint8Array>();
      wanted.set(url, file);
      post({ type: 'file-wanted', url });
      return file.promise;
    },
    async hand(operations) {
      const { promise: isTaken, resolve } = Promise.withResolvers<void>();
      sendMore = resolve;
      post({ type: 'converted', operations });
      await isTaken;
    },
  };
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
