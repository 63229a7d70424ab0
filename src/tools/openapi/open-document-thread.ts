import { parentPort, workerData } from 'node:worker_threads';
import { openDocument, type DocumentJob } from './open-document.ts';
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

port?.on('message', (message: ToThread) => {
  const asked = waiting.get(message.url);
  waiting.delete(message.url);
  if (message.bytes === undefined) asked?.reject(new Error(message.problem));
  else asked?.resolve(message.bytes);
});

const job = workerData as DocumentJob;
try {
  const opened = await openDocument(job, fetchFile);
  post({ type: 'opened', opened, budget: job.budget });
} catch (error) {
  post({ type: 'failed', problem: error instanceof Error ? error.message : String(error) });
}
// An open port keeps the thread alive.
port?.close();
