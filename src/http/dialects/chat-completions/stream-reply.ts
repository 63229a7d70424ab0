import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { ChatEvent } from '../../../core/chat.ts';

export interface StreamOptions {
  /** Text for the client, or nothing for events it does not see. */
  encode: (event: ChatEvent) => string;
  end: () => string;
  /** The last words of a stream that fails after its first byte. */
  failure: (error: unknown) => string;
  headers: Record<string, string>;
  /** A client that reads nothing for this long is cut off. */
  stallMs: number;
  /** Headers go out at the latest after this time, and comments when nothing else has been sent for the other. */
  patience: { headersMs: number; keepAliveMs: number };
  /** Aborts the run when the client leaves or stalls. */
  leave: AbortController;
}

/** Text beyond this is written at once instead of waiting for the end of the tick. */
const flushAtCharacters = 64 * 1024;
const keepAliveComment = ': keep-alive\n\n';

/**
 * Streams a run. The first thing for the client is awaited before anything is sent, so that an early failure is thrown and keeps its
 * HTTP status; after a while the headers go out all the same. What arrives within one tick is written once; a full socket stops
 * the reading of the upstream until it drains.
 */
export async function streamReply(reply: FastifyReply, events: AsyncGenerator<ChatEvent>, options: StreamOptions): Promise<FastifyReply> {
  const raw = reply.raw;
  // Not `request.raw`: that one closes as soon as the body has been read.
  raw.once('close', () => {
    // A stream that went out whole has nothing left to abort.
    if (!raw.writableFinished) options.leave.abort(new DOMException('The client left', 'AbortError'));
  });
  const opening = await firstWords(events, options);
  if (raw.destroyed) {
    await endQuietly(events);
    return reply;
  }
  reply.hijack();
  raw.writeHead(200, { ...flatHeaders(reply), ...options.headers });
  const writer = createTickWriter(raw, options);
  writer.write(opening.text === '' ? keepAliveComment : opening.text);
  try {
    if (opening.pending !== undefined) await pump(writer, { events, pending: opening.pending }, options);
    writer.write(options.end());
  } catch (error) {
    if (!options.leave.signal.aborted || isDeliberate(options.leave.signal)) writer.write(options.failure(error));
  } finally {
    await endQuietly(events);
    await writer.end();
  }
  return reply;
}

/** A run that the gateway itself cancelled still owes its client a word; a client that left does not wait for one. */
function isDeliberate(signal: AbortSignal): boolean {
  return !(signal.reason instanceof DOMException);
}

type Pending = Promise<IteratorResult<ChatEvent>>;

/** Waits for the first words; `pending` is the event that is still awaited, undefined when the run has ended. */
async function firstWords(
  events: AsyncGenerator<ChatEvent>,
  options: StreamOptions,
): Promise<{ text: string; pending: Pending | undefined }> {
  const { promise: late, resolve } = Promise.withResolvers<'late'>();
  const timer = setTimeout(() => resolve('late'), options.patience.headersMs);
  let text = '';
  try {
    for (;;) {
      const pending = awaitLater(events.next());
      const next = await Promise.race([pending, late]);
      if (next === 'late') return { text, pending };
      if (next.done === true) return { text, pending: undefined };
      text += options.encode(next.value);
      if (text !== '' && !isPrelude(next.value)) return { text, pending: awaitLater(events.next()) };
    }
  } finally {
    clearTimeout(timer);
  }
}

/** A failure is met where the event is awaited; until then it must not count as unhandled. */
function awaitLater(pending: Pending): Pending {
  pending.catch(() => undefined);
  return pending;
}

/** What the gateway says of itself before the model was asked: it waits, so that a refusal of the model keeps its HTTP status. */
function isPrelude(event: ChatEvent): boolean {
  return event.type === 'run-event' && (event.event.type === 'run.start' || event.event.type === 'warning');
}

async function pump(
  writer: TickWriter,
  { events, pending }: { events: AsyncGenerator<ChatEvent>; pending: Pending },
  options: StreamOptions,
) {
  for (let next = await pending; next.done !== true; next = await events.next()) {
    const text = options.encode(next.value);
    if (text !== '') writer.write(text);
    if (writer.isFull()) await writer.drained();
  }
}

async function endQuietly(events: AsyncGenerator<ChatEvent>): Promise<void> {
  await events.return(undefined).catch(() => undefined);
}

function flatHeaders(reply: FastifyReply): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(reply.getHeaders()).map(([name, value]) => [name, Array.isArray(value) ? value : String(value)]),
  );
}

interface TickWriter {
  write(text: string): void;
  isFull(): boolean;
  /** Resolves when the client has read; cuts it off when it does not in time. */
  drained(): Promise<void>;
  end(): Promise<void>;
}

function createTickWriter(raw: ServerResponse, options: StreamOptions): TickWriter {
  let waiting = '';
  let isScheduled = false;
  let hasWritten = false;

  const flush = (): void => {
    isScheduled = false;
    if (waiting === '' || raw.destroyed) return;
    const text = waiting;
    waiting = '';
    hasWritten = true;
    raw.write(text);
  };
  const keepAlive = setInterval(() => {
    if (!hasWritten && !raw.writableNeedDrain && !raw.destroyed) raw.write(keepAliveComment);
    hasWritten = false;
  }, options.patience.keepAliveMs);
  keepAlive.unref();
  raw.once('close', () => clearInterval(keepAlive));

  const drained = async (): Promise<void> => {
    const settled = new AbortController();
    // A slow reader is no stalled one: only a whole period in which nothing was taken counts.
    let taken = raw.socket?.bytesWritten;
    const timer = setInterval(() => {
      const now = raw.socket?.bytesWritten;
      if (now !== taken) {
        taken = now;
        return;
      }
      options.leave.abort(new DOMException('The client stopped reading', 'AbortError'));
      raw.destroy();
    }, options.stallMs);
    try {
      await Promise.race([once(raw, 'drain', { signal: settled.signal }), once(raw, 'close', { signal: settled.signal })]);
    } finally {
      // Also takes the listeners of the other event away: a slow reader drains thousands of times.
      settled.abort();
      clearInterval(timer);
    }
    options.leave.signal.throwIfAborted();
  };

  return {
    write(text) {
      waiting += text;
      if (waiting.length >= flushAtCharacters) flush();
      else if (!isScheduled) {
        isScheduled = true;
        setImmediate(flush);
      }
    },
    // Asked of the socket each time: it may have drained while the next event was awaited.
    isFull: () => raw.writableNeedDrain && !raw.destroyed,
    drained,
    async end() {
      clearInterval(keepAlive);
      flush();
      if (raw.destroyed) return;
      if (raw.writableNeedDrain) await drained().catch(() => undefined);
      raw.end();
    },
  };
}
