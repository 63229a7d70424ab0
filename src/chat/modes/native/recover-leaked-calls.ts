import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FinishReason, ModelEvent, ToolCall } from '../../../core/chat.ts';
import { textOf } from '../../../core/chat.ts';
import { isDeeperThan } from '../../../shared/json.ts';
import type { JsonValue } from '../../../shared/json.ts';
import { limits } from '../../../core/limits.ts';
import type { ModelBackend, ModelRequest } from '../../../core/model.ts';
import type { ToolSpec } from '../../../core/tool.ts';
import { callerSpecs } from '../../tool-choice/caller-functions.ts';
import { canonicalJson } from '../../tool-calls/canonical-json.ts';
import type { AnswerPiece, DamagedCall } from '../../parse-tool-calls/call-pieces.ts';
import { createToolCallParser } from '../../parse-tool-calls/tool-call-parser.ts';
import { EarlierTexts } from '../earlier-texts.ts';
import { slicesOf } from '../slices-of.ts';

export interface RecoveryOptions {
  backend: ModelBackend;
  newCallId: () => string;
  caller: { readonly id: string };
}

/**
 * Recovers calls that a model with native calls leaks into its text. Only where functions are on offer, calls are allowed, and the caller has asked
 * for no form of the answer; and by the careful rules of the parser: what a page or an earlier message says never acts.
 */
export function recoverLeakedCalls({ backend, newCallId, caller }: RecoveryOptions): ModelBackend {
  return {
    chat(request) {
      const { response_format: form, format } = request.parameters;
      const hasForm = (form !== undefined && form !== null && !isPlainText(form)) || (format !== undefined && format !== null);
      if (request.toolChoice === 'none' || hasForm) return backend.chat(request);
      const specs = [...request.tools, ...callerSpecs(request.callerTools)];
      return specs.length === 0 ? backend.chat(request) : withRescue(backend.chat(request), { request, specs, newCallId, caller });
    },
  };
}

/** `{"type": "text"}` asks for nothing. */
function isPlainText(form: unknown): boolean {
  return typeof form === 'object' && form !== null && 'type' in form && form.type === 'text';
}

interface LeakedCall {
  name: string;
  /** As of a native call: raw text. */
  arguments: string;
}

interface Rescue {
  request: ModelRequest;
  specs: readonly ToolSpec[];
  newCallId: () => string;
  caller: { readonly id: string };
}

async function* withRescue(
  answer: AsyncGenerator<ModelEvent>,
  { request, specs, newCallId, caller }: Rescue,
): AsyncGenerator<ModelEvent, void> {
  const texts = request.messages.map((message) => textOf(message.content));
  const earlier = new EarlierTexts(texts, { isReact: false, caller, signal: request.signal });
  const parser = createToolCallParser({ tools: specs, rescue: earlier });
  const native: ToolCall[] = [];
  let leaked: LeakedCall[] = [];
  let finish: FinishReason | undefined;

  function* read(pieces: readonly AnswerPiece[]): Generator<ModelEvent> {
    for (const piece of pieces) {
      // One more than may run is kept, so that the loop sees that there are too many.
      const isFull = leaked.length > limits.callsPerRound && (piece.type === 'call' || piece.type === 'damaged');
      if (piece.type === 'reasoning') yield { type: 'reasoning', text: piece.text };
      else if (piece.type === 'text' || isFull) yield { type: 'text', text: piece.text };
      else if (piece.type === 'call') leaked.push({ name: piece.name, arguments: JSON.stringify(piece.arguments) });
      else if (piece.type === 'damaged' && isMeant(piece, request.tools))
        leaked.push({ name: piece.name ?? '', arguments: `unreadable: ${piece.text}` });
      // What came before was thought, and thoughts do not act.
      else if (piece.type === 'retraction') leaked = [];
      else yield* leftAsText(piece);
    }
  }

  async function* readPaused(): AsyncGenerator<ModelEvent> {
    while (earlier.isAwaited) {
      await earlier.prepare();
      yield* read(parser.resume());
    }
  }

  async function* readText(text: string): AsyncGenerator<ModelEvent> {
    for await (const slice of slicesOf(text)) {
      yield* read(parser.push(slice));
      if (earlier.isAwaited) yield* readPaused();
    }
  }

  for await (const event of answer) {
    const isFirstChoice = !('choice' in event) || (event.choice ?? 0) === 0;
    if (event.type === 'text' && isFirstChoice) yield* readText(event.text);
    else if (event.type === 'finish' && isFirstChoice) finish = event.reason;
    else {
      if (event.type === 'tool-call') native.push(event.call);
      yield event;
    }
  }
  yield* read(parser.flush({ isCut: finish === 'length' }));
  if (earlier.isAwaited) yield* readPaused();
  const rescued = await withoutGiven(leaked, native);
  for (const call of rescued) {
    const message = `The model wrote a call of "${call.name}" into its text. It is taken as a call.`;
    yield { type: 'run-event', event: { type: 'warning', data: { code: 'call_rescued', message } } };
    yield { type: 'tool-call', call: { id: newCallId(), name: call.name, arguments: call.arguments } };
  }
  if (finish !== undefined) yield { type: 'finish', reason: rescued.length > 0 && finish === 'stop' ? 'tool_calls' : finish };
}

/** A damaged call of one of the gateway's functions: the loop never runs it, and tells the model what is wrong with it, as it does with a native one. */
function isMeant({ name, reason }: DamagedCall, specs: readonly ToolSpec[]): boolean {
  return reason !== 'unknown_name' && reason !== 'too_large' && specs.some((spec) => spec.name === name);
}

/** What is meant as a call and is not one stays what it is: nothing that a model says is lost. */
function* leftAsText(piece: Exclude<AnswerPiece, { type: 'text' | 'reasoning' | 'call' | 'retraction' }>): Generator<ModelEvent> {
  if (piece.type === 'damaged') {
    const name = piece.name === undefined ? 'a function' : `"${piece.name.slice(0, 200)}"`;
    const message = `The model wrote a call of ${name} into its text that cannot be made (${piece.reason}). It is left as text.`;
    yield { type: 'run-event', event: { type: 'warning', data: { code: 'call_not_rescued', message } } };
  }
  yield { type: 'text', text: piece.text };
}

/** Some servers give a call in both ways. Each call is read once, and in a turn of the event loop of its own, because its arguments may be long. */
async function withoutGiven(leaked: readonly LeakedCall[], native: readonly ToolCall[]): Promise<LeakedCall[]> {
  const names = new Set(leaked.map(({ name }) => name));
  const given = new Set<string>();
  // Behind a full round of native calls nothing runs that was rescued.
  for (const call of native.slice(0, limits.callsPerRound)) {
    if (!names.has(call.name)) continue;
    await nextTurn();
    const key = keyOf(call);
    if (key !== undefined) given.add(key);
  }
  if (given.size === 0) return [...leaked];
  const rescued: LeakedCall[] = [];
  for (const call of leaked) {
    await nextTurn();
    const key = keyOf(call);
    if (key === undefined || !given.has(key)) rescued.push(call);
  }
  return rescued;
}

/** The same for calls that differ only in the order of keys; undefined for one that is refused for its arguments anyway. */
function keyOf({ name, arguments: text }: LeakedCall): string | undefined {
  if (text.length > limits.argumentsBytes) return undefined;
  try {
    const value = JSON.parse(text) as JsonValue;
    return isDeeperThan(value, limits.jsonDepth) ? undefined : `${name} ${canonicalJson(value)}`;
  } catch {
    return undefined;
  }
}
