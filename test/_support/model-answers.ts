import { readFileSync } from 'node:fs';
import type { ModelEvent, ToolCall, Usage } from '../../src/core/chat/chat.ts';
import type { JsonObject } from '../../src/shared/json/json.ts';
import type { ModelRequest } from '../../src/core/models/model.ts';
import type { OutboundResponse, SendOutbound } from '../../src/core/outbound.ts';
import { outboundBody } from './outbound-body.ts';

/** The bytes of a recorded answer. */
export function readRecording(name: string): Uint8Array {
  return readFileSync(new URL(`../_recordings/${name}.txt`, import.meta.url));
}

/** A backend's question with everything left out that a test does not name. */
export function askModel(fields: Partial<ModelRequest> = {}): ModelRequest {
  return {
    model: 'm',
    messages: [{ role: 'user', content: 'hi' }],
    tools: [],
    callerTools: [],
    toolChoice: undefined,
    parallelToolCalls: undefined,
    parameters: {},
    stream: true,
    signal: new AbortController().signal,
    ...fields,
  };
}

/** A door that answers every request with the same pieces. */
export function answerWith(pieces: readonly Uint8Array[], contentType = 'text/event-stream'): SendOutbound {
  return () =>
    Promise.resolve({
      status: 200,
      headers: { 'content-type': contentType },
      body: outboundBody(inTurn(pieces)),
    } satisfies OutboundResponse);
}

async function* inTurn(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array, void, undefined> {
  for (const piece of pieces) {
    await Promise.resolve();
    yield piece;
  }
}

/** The bytes cut at these offsets, in any order, beyond the end too. */
export function cutAt(bytes: Uint8Array, offsets: readonly number[]): Uint8Array[] {
  const places = [...new Set(offsets.map((offset) => offset % (bytes.byteLength + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((start, index) => bytes.subarray(start, places[index] ?? bytes.byteLength));
}

export interface FoldedAnswer {
  text: string;
  reasoning: string;
  calls: ToolCall[];
  finish: string[];
  usage: Usage | undefined;
  extras: { level: string; fields: JsonObject }[];
}

/** An answer of one choice, with its pieces joined. */
export function fold(events: readonly ModelEvent[], choice = 0): FoldedAnswer {
  const answer: FoldedAnswer = { text: '', reasoning: '', calls: [], finish: [], usage: undefined, extras: [] };
  for (const event of events) {
    if (event.type === 'usage') answer.usage = event.usage;
    if ('choice' in event ? event.choice !== choice : choice !== 0) continue;
    if (event.type === 'text') answer.text += event.text;
    if (event.type === 'reasoning') answer.reasoning += event.text;
    if (event.type === 'tool-call') answer.calls.push(event.call);
    if (event.type === 'finish') answer.finish.push(event.reason);
    if (event.type === 'extra') answer.extras.push({ level: event.level, fields: event.fields });
  }
  return answer;
}
