import { parentPort, workerData } from 'node:worker_threads';
import type { JsonObject } from '../../core/json.ts';
import { parseDocument } from './parse-document.ts';

/** The body of the thread that `parse-document-aside` starts. Errors travel as their message: that is all that is shown of them. */
function parse(text: string): JsonObject {
  try {
    return { document: parseDocument(text) };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

// eslint-disable-next-line unicorn/require-post-message-target-origin -- the port of a thread, not a window
parentPort?.postMessage(parse(String(workerData)));
