import { randomBytes } from 'node:crypto';
import type { RunSuspension } from '../../src/core/runs/suspended-run.ts';
import type { Caller } from '../../src/core/callers/caller.ts';
import type { JsonObject, JsonValue } from '../../src/shared/json/json.ts';
import type { BrowserCall } from '../../src/core/tools/browser-call.ts';
import type { ToolInvocation } from '../../src/core/tools/tool.ts';
import { createBrowserRelay } from '../../src/relay/browser-relay.ts';
import type { BrowserRelay } from '../../src/relay/browser-relay.ts';
import { createInProcessBus } from '../../src/relay/bus.ts';
import type { RelayBus } from '../../src/relay/bus.ts';
import type { SessionSocket } from '../../src/relay/session.ts';

export const ada: Caller = { id: 'ada', role: 'user', isOpen: false };
export const bob: Caller = { id: 'bob', role: 'user', isOpen: false };

export const newId = (): string => randomBytes(16).toString('base64url');

export function startRelay(options: { bus?: RelayBus; replicaId?: string; graceMs?: number; now?: () => number } = {}): BrowserRelay {
  const { bus = createInProcessBus(), replicaId = newId(), graceMs = 1_000, now = Date.now } = options;
  return createBrowserRelay({ bus, replicaId, newId, now, graceMs });
}

export interface RecordingSocket extends SessionSocket {
  frames: JsonObject[];
  closed: { code: number; reason: string }[];
  /** Frames of one type, their `data` only. */
  dataOf(type: string): JsonObject[];
}

export function recordingSocket(): RecordingSocket {
  const frames: JsonObject[] = [];
  const closed: { code: number; reason: string }[] = [];
  return {
    frames,
    closed,
    send: (frame) => frames.push(frame) > 0,
    close: (code, reason) => void closed.push({ code, reason }),
    dataOf: (type) => frames.filter((frame) => frame['type'] === type).map((frame) => frame['data'] as JsonObject),
  };
}

export const timeCall: BrowserCall = {
  callId: 'call_1',
  name: 'get_time',
  offeredName: 'time_get_time',
  params: { zone: 'UTC' },
  server: { url: 'http://localhost:9000', info: { title: 'Time' } },
  request: { method: 'GET', url: 'http://localhost:9000/time?zone=UTC', headers: { accept: 'application/json' } },
};

export interface InvocationOptions {
  caller?: Caller;
  sessionId?: string | undefined;
  timeoutMs?: number;
  signal?: AbortSignal;
  runSignal?: AbortSignal;
  suspension?: RunSuspension;
}

export function invocation(options: InvocationOptions): ToolInvocation {
  const never = new AbortController().signal;
  const run = {
    runId: 'run_1',
    caller: options.caller ?? ada,
    chatId: undefined,
    messageId: undefined,
    sessionId: options.sessionId,
    signal: options.runSignal ?? never,
    suspension: options.suspension,
  };
  return { callId: 'call_1', args: {}, run, signal: options.signal ?? never, timeoutMs: options.timeoutMs ?? 5_000 };
}

export function idOf(data: JsonObject | undefined): string {
  const id: JsonValue | undefined = data?.['id'];
  if (typeof id !== 'string') throw new Error('No id.');
  return id;
}
