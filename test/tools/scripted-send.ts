import type { JsonObject } from '../../src/shared/json/json.ts';
import type { OutboundRequest, OutboundResponse, SendOutbound } from '../../src/core/outbound.ts';
import { outboundBody } from '../_support/outbound-body.ts';

/** An answer as JSON, a failure, or whatever a function makes of the request. */
export type ScriptedAnswer = JsonObject | Error | ((request: OutboundRequest) => Promise<OutboundResponse>);

export interface ScriptedSend {
  send: SendOutbound;
  /** What was sent, in order. */
  requests: OutboundRequest[];
  /** By URL without its query; may be changed while a test runs. */
  answers: Map<string, ScriptedAnswer>;
}

/** The door out without a network. Honours the signal; an address without an answer is a 404. */
export function scriptedSend(answers: Record<string, ScriptedAnswer> = {}): ScriptedSend {
  const script: ScriptedSend = {
    requests: [],
    answers: new Map(Object.entries(answers)),
    async send(request) {
      request.signal.throwIfAborted();
      script.requests.push(request);
      const answer = script.answers.get(request.url.replace(/\?.*$/, ''));
      if (answer instanceof Error) throw answer;
      if (typeof answer === 'function') return answer(request);
      return answer === undefined ? jsonResponse({ error: 'not here' }, 404) : jsonResponse(answer);
    },
  };
  return script;
}

export function jsonResponse(body: JsonObject, status = 200): OutboundResponse {
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  async function* read(): AsyncGenerator<Uint8Array> {
    yield bytes;
  }
  return { status, headers: { 'content-type': 'application/json' }, body: outboundBody(read()) };
}

/** Answers only when the request is given up. */
export function neverAnswers(request: OutboundRequest): Promise<OutboundResponse> {
  return new Promise((_resolve, reject) => {
    request.signal.addEventListener('abort', () => reject(request.signal.reason as Error), { once: true });
  });
}

/** A document with a GET operation for each name, each with the optional query parameter `city`. */
export function documentWith(...names: string[]): JsonObject {
  return {
    openapi: '3.1.0',
    info: { title: 'Clocks', version: '1.0.0' },
    paths: Object.fromEntries(
      names.map((name) => [
        `/${encodeURIComponent(name)}`,
        {
          get: {
            operationId: name,
            summary: `Does ${name}`,
            parameters: [{ name: 'city', in: 'query', schema: { type: 'string' } }],
            responses: { 200: { description: 'Done' } },
          },
        },
      ]),
    ),
  };
}
