import type { OutboundRequest, OutboundResponse, SendOutbound } from '../../../src/core/outbound.ts';
import { outboundBody } from '../../_support/outbound-body.ts';

export interface ScriptedAnswer {
  status?: number;
  headers?: Record<string, string>;
  /** Pieces, in the order in which they arrive; an error among them breaks the connection. */
  body?: string | (Uint8Array | string | Error)[];
}

/** A door whose other side answers with what the script says; keeps the requests. Honours the signal like the real one. */
export function scriptedServer(answer: (request: OutboundRequest) => ScriptedAnswer | Promise<ScriptedAnswer>): {
  send: SendOutbound;
  requests: OutboundRequest[];
} {
  const requests: OutboundRequest[] = [];
  const send: SendOutbound = async (request) => {
    requests.push(request);
    request.signal.throwIfAborted();
    const { promise, reject } = Promise.withResolvers<never>();
    const onAbort = (): void => reject(request.signal.reason as Error);
    request.signal.addEventListener('abort', onAbort, { once: true });
    try {
      return toResponse(await Promise.race([answer(request), promise]));
    } finally {
      request.signal.removeEventListener('abort', onAbort);
    }
  };
  return { send, requests };
}

/** Never answers; ends with the signal. */
export function silence(): Promise<never> {
  return Promise.withResolvers<never>().promise;
}

export function toResponse({ status = 200, headers = {}, body = '' }: ScriptedAnswer): OutboundResponse {
  return { status, headers, body: outboundBody(pieces(typeof body === 'string' ? [body] : body)) };
}

async function* pieces(parts: (Uint8Array | string | Error)[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) {
    await Promise.resolve();
    if (part instanceof Error) throw part;
    if (part.length > 0) yield typeof part === 'string' ? new TextEncoder().encode(part) : part;
  }
}
