import { existsSync, mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { SSEClientTransport, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';
import type { SendOutbound } from '../../../core/outbound.ts';
import type { RunContext } from '../../../core/runs/run.ts';
import { BoundedStdioTransport, createErrorOutput, type ErrorOutput } from './bounded-stdio-transport.ts';
import type { CallScopes } from '../call-scope.ts';
import { requestIdIn, type AnswerWatch } from '../incoming-messages.ts';
import type { McpPeer } from '../mcp-peer.ts';
import type { MarkedNumbers } from './marked-numbers.ts';
import { withExplainedStatuses } from './explained-statuses.ts';
import { createOutboundFetch, mcpConnectTimeoutMs, type OutboundFetchOptions } from './outbound-fetch.ts';
import { recordingOf } from './record-messages.ts';

/** The same for a process, which npm may have to fetch first. */
const mcpProcessStartMs = 60_000;

/** A transport to try. `isLegacy`: it serves only servers of the first protocol version. */
export interface TransportKind {
  isLegacy: boolean;
  /** For each step of the initialization handshake. */
  connectTimeoutMs: number;
  createTransport(): Transport;
  /** Stderr of the latest process; absent for HTTP transports. */
  errorOutput?: () => ErrorOutput;
}

interface TransportOptions {
  send: SendOutbound;
  scopes: CallScopes;
  answers: AnswerWatch;
  numbers: MarkedNumbers;
  signal: AbortSignal;
  /** Where processes without a folder of their own run, by the id of their server; absent: in the folder of the gateway. */
  processFolder?: ((id: string) => string) | undefined;
}

/** Returns the transports in the order in which they are tried. */
export type CreateTransports = (peer: McpPeer, options: TransportOptions) => TransportKind[];

/** Streamable HTTP, then SSE, its predecessor; or the process that the configuration names. */
export const createTransports: CreateTransports = (peer, { send, scopes, answers, numbers, signal, processFolder }) => {
  if (peer.process !== undefined) return [processTransport(peer.process, numbers, processFolder?.(peer.id))];
  const url = new URL(peer.url);
  const connectTimeoutMs = mcpConnectTimeoutMs;
  /** Only what is posted may belong to a call that the code does not run for: a stream and the end of a session are everybody's. */
  const runOf = (method: string): RunContext | undefined => (method === 'POST' ? scopes.current() : scopes.contextual())?.run;
  const options: OutboundFetchOptions = {
    send,
    trust: peer.trust,
    signal,
    numbers,
    headers: (method) => peer.headersFor(runOf(method)),
    query: () => peer.query(),
    sessionUser: (method) => peer.sessionUserFor(runOf(method)),
    caller: (method) => runOf(method)?.caller.id,
    // A call that is over may still be cancelled.
    lostSignal(body) {
      const scope = scopes.contextual();
      return scope === undefined || requestIdIn(body) === undefined ? undefined : scope.lost;
    },
    watchAnswer(body) {
      const scope = scopes.contextual();
      const id = scope === undefined ? undefined : requestIdIn(body);
      return scope === undefined || id === undefined ? undefined : answers.begin(id, () => scope.onAnswerLost());
    },
  };
  const fetch = createOutboundFetch({ ...options, recording: () => recordingOf(peer, scopes.contextual()?.run) });
  return [
    {
      isLegacy: false,
      connectTimeoutMs,
      createTransport: () => new StreamableHTTPClientTransport(url, { fetch }),
    },
    // The SDK deprecates this transport in favour of the first one, but servers of 2024 speak only this one.
    {
      isLegacy: true,
      connectTimeoutMs,
      createTransport: () => new SSEClientTransport(url, { fetch: withExplainedStatuses(createOutboundFetch(options)) }),
    },
  ];
};

/** The gateway's environment holds its secrets, so the process gets only what it needs to start, and what the configuration adds. */
function processTransport(process: NonNullable<McpPeer['process']>, numbers: MarkedNumbers, ownFolder: string | undefined): TransportKind {
  const { command, args, cwd = ownFolder } = process;
  const isMoved = process.cwd === undefined && ownFolder !== undefined;
  const settings = {
    ...(isMoved ? { command: fromHere(command), args: args.map(fromHere) } : { command, args }),
    env: { ...getDefaultEnvironment(), ...process.environment },
    stderr: 'pipe',
    ...(cwd !== undefined && { cwd }),
  } as const;
  let errorOutput = createErrorOutput();
  return {
    isLegacy: false,
    connectTimeoutMs: mcpProcessStartMs,
    createTransport() {
      if (isMoved) mkdirSync(ownFolder, { recursive: true, mode: 0o700 });
      const transport = new BoundedStdioTransport({ ...settings, numbers });
      const output = createErrorOutput();
      errorOutput = output;
      // Always drained: a process blocks when its stderr pipe is full.
      transport.stderr?.on('data', (chunk: Uint8Array) => output.add(chunk));
      return transport;
    },
    errorOutput: () => errorOutput,
  };
}

/** A path relative to the gateway's folder, for a process that runs in another one. Of other words, none with a dot or a slash names a file here. */
function fromHere(word: string): string {
  return /^[^-].*[./]|^\./.test(word) && existsSync(word) ? resolve(word) : word;
}
