import { Worker } from 'node:worker_threads';
import { isJsonObject } from '../../core/json.ts';
import type { JsonObject } from '../../core/json.ts';
import { isJsonText, parseDocument } from './parse-document.ts';

/** YAML of this length takes about 100 ms, a thread about as long to start. JSON of the largest size that is let in is no slower. */
const threadCharacters = 128 * 1024;
/** A text that needs more is an attack: the thread ends, and the gateway goes on. */
const threadMegabytes = 512;

/**
 * As `parseDocument`, but large YAML is parsed in a thread of its own: a document of 4 MB takes seconds, and every stream would stand still.
 * @throws Error as `parseDocument` does; the signal's reason, which also ends the thread.
 */
export async function parseDocumentAside(text: string, signal: AbortSignal): Promise<JsonObject> {
  signal.throwIfAborted();
  if (text.length < threadCharacters || isJsonText(text)) return parseDocument(text);
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const worker = new Worker(new URL(`./parse-document-thread.${extension}`, import.meta.url), {
    workerData: text,
    resourceLimits: { maxOldGenerationSizeMb: threadMegabytes },
  });
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const onAbort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  worker.once('message', resolve);
  worker.once('error', reject);
  worker.once('exit', () => reject(new Error('The document could not be parsed.')));
  try {
    return readMessage(await promise);
  } finally {
    signal.removeEventListener('abort', onAbort);
    await worker.terminate();
  }
}

/** What `parse-document-thread` posts: `{document}` or `{problem}`. */
function readMessage(message: unknown): JsonObject {
  if (isJsonObject(message) && isJsonObject(message['document'])) return message['document'];
  const problem =
    isJsonObject(message) && typeof message['problem'] === 'string' ? message['problem'] : 'The document could not be parsed.';
  throw new Error(problem);
}
