import { Worker } from 'node:worker_threads';
import pLimit from 'p-limit';
import { isJsonObject } from '../../core/json.ts';
import type { JsonObject } from '../../core/json.ts';
import { isJsonText, parseDocument } from './parse-document.ts';

/** YAML of this length takes about 100 ms, a thread about as long to start. JSON of the largest size that is let in is no slower. */
const threadCharacters = 128 * 1024;
/** A text that needs more is an attack: the thread ends, and the gateway goes on. */
const threadMegabytes = 256;
const tooMuchMemory = `Parsing this YAML takes more than ${threadMegabytes} MB of memory. The same document as JSON takes far less.`;
/** For the whole process: one request may bring many documents, and each thread may take all that memory. */
const parsing = pLimit(2);

/**
 * As `parseDocument`, but large YAML is parsed in a thread of its own: a document of 4 MB takes seconds, and every stream would stand still.
 * At most two threads run at a time; the others wait for their turn.
 * @throws Error as `parseDocument` does; the signal's reason, which also ends the thread.
 */
export async function parseDocumentAside(text: string, signal: AbortSignal): Promise<JsonObject> {
  signal.throwIfAborted();
  if (text.length < threadCharacters || isJsonText(text)) return parseDocument(text);
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    // Whoever leaves does not wait for a turn.
    return await Promise.race([promise, parsing(() => parseInThread(text, signal))]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

async function parseInThread(text: string, signal: AbortSignal): Promise<JsonObject> {
  signal.throwIfAborted();
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const worker = new Worker(new URL(`./parse-document-thread.${extension}`, import.meta.url), {
    workerData: text,
    resourceLimits: { maxOldGenerationSizeMb: threadMegabytes },
  });
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const onAbort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  worker.once('message', resolve);
  worker.once('error', (error) => reject(isOutOfMemory(error) ? new Error(tooMuchMemory, { cause: error }) : error));
  worker.once('exit', () => reject(new Error('The document could not be parsed.')));
  try {
    return readMessage(await promise);
  } finally {
    signal.removeEventListener('abort', onAbort);
    await worker.terminate();
  }
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
}

/** What `parse-document-thread` posts: `{document}` or `{problem}`. */
function readMessage(message: unknown): JsonObject {
  if (isJsonObject(message) && isJsonObject(message['document'])) return message['document'];
  const problem =
    isJsonObject(message) && typeof message['problem'] === 'string' ? message['problem'] : 'The document could not be parsed.';
  throw new Error(problem);
}
