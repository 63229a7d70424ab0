import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { isJsonObject } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';
import type { StreamEnd } from './bounded-stream.ts';

/** Notices answers that were promised and never came: the SDK would wait for them until its time limit. */
export interface AnswerWatch {
  /** A stream has begun that should hold the answer to a request. What it gives is to be called when the stream is over. */
  begin(requestId: number | string, onLost: () => void): (end: StreamEnd) => void;
  /** Every message that comes in. */
  note(message: JSONRPCMessage): void;
}

export function createAnswerWatch(): AnswerWatch {
  const open = new Map<number | string, { isAnswered: boolean }>();
  return {
    begin(requestId, onLost) {
      const request = { isAnswered: false };
      open.set(requestId, request);
      return ({ isResumable }) => {
        // The SDK reads on a moment longer than the stream lasts; and what has ids it asks for again.
        setTimeout(() => {
          if (open.get(requestId) === request) open.delete(requestId);
          if (!request.isAnswered && !isResumable) onLost();
        }, limits.mcpCutGraceMs).unref();
      };
    },
    note(message) {
      if (!('result' in message) && !('error' in message)) return;
      const request = message.id === undefined ? undefined : open.get(message.id);
      if (request !== undefined) request.isAnswered = true;
    },
  };
}

/** The id of the request in a body; undefined for a notification. */
export function requestIdIn(body: string): number | string | undefined {
  const message: unknown = JSON.parse(body);
  const id = isJsonObject(message) ? message['id'] : undefined;
  return typeof id === 'number' || typeof id === 'string' ? id : undefined;
}
