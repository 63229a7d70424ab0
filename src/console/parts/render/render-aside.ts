import { startWorker } from '../../workers.ts';
import type { RenderJob, Rendered } from './render-messages.ts';

/** A text that takes longer stays as it is. */
const limitMs = 2_000;
/** The first job loads the worker and a library, maybe over a slow line. */
const firstLimitMs = 20_000;

interface Waiting {
  job: RenderJob;
  done: (rendered: unknown) => void;
}

let worker: Worker | undefined;
let isWarm = false;
let nextId = 0;
const waiting: Waiting[] = [];
let current: { id: number; done: (rendered: unknown) => void; timer: ReturnType<typeof setTimeout> } | undefined;

/** Renders one text after the other in a worker. Resolves to undefined if the text cannot be rendered, or not in time. */
export function renderAside<Job extends RenderJob>(job: Job): Promise<Rendered<Job>> {
  return new Promise((resolve) => {
    waiting.push({ job, done: resolve as (rendered: unknown) => void });
    next();
  });
}

function next(): void {
  if (current !== undefined) return;
  const first = waiting.shift();
  if (first === undefined) return;
  try {
    worker ??= openWorker();
  } catch {
    // A page without workers.
    first.done(undefined);
    return next();
  }
  nextId += 1;
  current = { id: nextId, done: first.done, timer: setTimeout(giveUp, isWarm ? limitMs : firstLimitMs) };
  worker.postMessage({ id: nextId, job: first.job });
}

function openWorker(): Worker {
  const opened = startWorker('render');
  opened.addEventListener('message', ({ data }: MessageEvent<{ id: number; rendered: unknown }>) => {
    if (data.id !== current?.id) return;
    isWarm = true;
    finish(data.rendered);
  });
  opened.addEventListener('error', giveUp);
  return opened;
}

function giveUp(): void {
  worker?.terminate();
  worker = undefined;
  finish(undefined);
}

function finish(rendered: unknown): void {
  clearTimeout(current?.timer);
  current?.done(rendered);
  current = undefined;
  next();
}
