import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { limits } from '../../../core/limits.ts';
import { ownValue, type JsonObject } from '../../../shared/json/json.ts';

/** Requests of a server, such as pings, whose answers it has not taken; then the connection is closed. All together are as long as one message. */
export const mcpOpenQuestions = 1_000;

/**
 * Bounds the requests of a server (pings, elicitations) whose answers it has not taken: it may ask without reading what is sent to it, and answers that
 * wait to be sent, each with its request, would fill memory. Must be given the transport before anything is received; the client's own handler follows
 * the one that is set here.
 */
export function boundOpenQuestions(
  transport: Transport,
  { isAnswered, onFlood }: { isAnswered: () => boolean; onFlood: () => void },
): void {
  /** Sizes of requests without an answer yet, by their ids, which may be in use twice. */
  const unanswered = new Map<unknown, number[]>();
  /** Of these, and of those whose answer is being sent. */
  let count = 0;
  let characters = 0;
  let isFlooded = false;

  function add(id: unknown, size: number): void {
    const sizes = unanswered.get(id) ?? [];
    unanswered.set(id, sizes);
    sizes.push(size);
    count += 1;
    characters += size;
    isFlooded = count > mcpOpenQuestions || characters > limits.mcpMessageBytes;
    if (!isFlooded) return;
    unanswered.clear();
    onFlood();
  }

  /** The size of a request that has been answered or withdrawn, which still counts. */
  function take(id: unknown): number | undefined {
    const sizes = unanswered.get(id);
    const size = sizes?.pop();
    if (sizes?.length === 0) unanswered.delete(id);
    return size;
  }

  function release(size: number | undefined): void {
    if (size === undefined) return;
    count -= 1;
    characters -= size;
  }

  const send = transport.send.bind(transport);
  transport.send = async (message, options) => {
    const size = 'method' in message ? undefined : take(message.id);
    try {
      await send(message, options);
    } finally {
      release(size);
    }
  };
  // eslint-disable-next-line unicorn/prefer-add-event-listener -- a transport of the SDK is not an EventTarget
  transport.onmessage = (message: JSONRPCMessage) => {
    if (isFlooded || !('method' in message)) return;
    if ('id' in message) {
      if (isAnswered()) add(message.id, JSON.stringify(message).length);
    } else if (message.method === 'notifications/cancelled') {
      // The client does not answer what was withdrawn.
      release(take(ownValue((message.params ?? {}) as JsonObject, 'requestId')));
    }
  };
}
