import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { limits } from '../../../core/limits.ts';
import type { RecordedBody, RecordedRequest } from '../../../core/runs/recorded-request.ts';
import type { RunContext } from '../../../core/runs/run.ts';
import { isSecretName } from '../../../shared/secrets/secret-names.ts';
import { toRecordedText, type Recording } from '../../outgoing/record-requests.ts';
import type { CallScopes } from '../call-scope.ts';
import type { McpPeer } from '../mcp-peer.ts';

/** Anybody who knows it can impersonate the gateway. */
const sessionHeader = 'mcp-session-id';

/** Recorded requests of a connection without an answer; the oldest are given up, because a server may answer none. */
const maxWaiting = 64;

/** Where a call records its requests; undefined where it does not. */
export function recordingOf(peer: McpPeer, run: RunContext | undefined): Recording | undefined {
  if (run?.recordedRequests === undefined) return undefined;
  const headers = new Set([sessionHeader, ...Object.keys(peer.headersFor(run)).map((name) => name.toLowerCase())]);
  const parameters = peer.query();
  return {
    requests: run.recordedRequests,
    get mask() {
      return (peer.masksFor?.(run) ?? peer).mask;
    },
    isCarried: (part) =>
      'header' in part ? headers.has(part.header) : Object.hasOwn(parameters, part.parameter) || isSecretName(part.parameter),
  };
}

/**
 * Records the requests of calls and their answers as messages of JSON-RPC, for transports whose answers do not come with the request: a pipe, and SSE.
 * The returned function must see every incoming message.
 */
export function recordMessages(
  transport: Transport,
  { peer, scopes }: { peer: McpPeer; scopes: CallScopes },
): (message: JSONRPCMessage) => void {
  const waiting = new Map<number | string, { recorded: RecordedRequest; recording: Recording }>();
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    const recording = recordingOf(peer, scopes.contextual()?.run);
    if (recording !== undefined && recording.requests.length < limits.recordedRequests && 'method' in message && 'id' in message) {
      const recorded: RecordedRequest = { body: toRecordedMessage(message, recording) };
      recording.requests.push(recorded);
      waiting.set(message.id, { recorded, recording });
      for (const id of waiting.keys()) if (waiting.size > maxWaiting) waiting.delete(id);
    }
    return send(message, options);
  };
  return (message) => {
    if ('method' in message || message.id === undefined) return;
    const asked = waiting.get(message.id);
    if (asked === undefined) return;
    waiting.delete(message.id);
    asked.recorded.answer = { readBody: () => toRecordedMessage(message, asked.recording) };
  };
}

function toRecordedMessage(message: JSONRPCMessage, { mask }: Pick<Recording, 'mask'>): RecordedBody {
  return toRecordedText(JSON.stringify(message), mask);
}
