import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FinishReason, ModelEvent, ToolCall } from '../../../core/chat.ts';
import { textOf } from '../../../core/chat.ts';
import { runSteps } from '../../../shared/emit.ts';
import type { Emit } from '../../../shared/emit.ts';
import { isDeeperThan } from '../../../shared/json.ts';
import type { JsonValue } from '../../../shared/json.ts';
import { limits } from '../../../core/limits.ts';
import type { ModelBackend, ModelRequest } from '../../../core/model.ts';
import type { ToolSpec } from '../../../core/tool.ts';
import { callerSpecs } from '../../tool-choice/caller-functions.ts';
import { canonicalJson } from '../../tool-calls/canonical-json.ts';
import type { AnswerPiece, DamagedCall } from '../../parse-tool-calls/answer-pieces.ts';
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
    answer(request, emit) {
      const { response_format: form, format } = request.parameters;
      const hasForm = (form !== undefined && form !== null && !isPlainText(form)) || (format !== undefined && format !== null);
      if (request.toolChoice === 'none' || hasForm) return backend.answer(request, emit);
      const specs = [...request.tools, ...callerSpecs(request.callerTools)];
      if (specs.length === 0) return backend.answer(request, emit);
      return answerWithLeakedCalls({ backend, newCallId, caller }, { request, specs, emit });
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

async function answerWithLeakedCalls(
  { backend, newCallId, caller }: RecoveryOptions,
  { request, specs, emit }: { request: ModelRequest; specs: readonly ToolSpec[]; emit: Emit<ModelEvent> },
): Promise<void> {
  const texts = request.messages.map((message) => textOf(message.content));
  const earlier = new EarlierTexts(texts, { isReact: false, caller, signal: request.signal });
  const parser = createToolCallParser({ tools: specs, isNative: true, quotes: earlier });
  const native: ToolCall[] = [];
  let leaked: LeakedCall[] = [];
  let finish: FinishReason | undefined;
  let read: ModelEvent[] = [];

  function add(pieces: readonly AnswerPiece[]): void {
    for (const piece of pieces) {
      // One more than may run is kept, so that the loop sees that there are too many.
      const isFull = leaked.length > limits.callsPerRound && (piece.type === 'call' || piece.type === 'damaged');
      if (piece.type === 'reasoning') read.push({ type: 'reasoning', text: piece.text });
      else if (piece.type === 'text' || isFull) read.push({ type: 'text', text: piece.text });
      else if (piece.type === 'call') leaked.push({ name: piece.name, arguments: JSON.stringify(piece.arguments) });
      else if (piece.type === 'damaged' && isMeant(piece, request.tools))
        leaked.push({ name: piece.name ?? '', arguments: `unreadable: ${piece.text}` });
      // What came before was thought, and thoughts do not act.
      else if (piece.type === 'retraction') leaked = [];
      else read.push(...leftAsText(piece));
    }
  }

  function emitRead(): Promise<void> | undefined {
    const events = read;
    read = [];
    return emit(events);
  }

  function* addWithPauses(pieces: readonly AnswerPiece[]): Generator<Promise<void> | undefined, void> {
    add(pieces);
    while (earlier.isAwaited) {
      yield emitRead();
      yield earlier.prepare();
      add(parser.resume());
    }
  }

  function* readText(text: string): Generator<Promise<void> | undefined, void> {
    for (const slice of slicesOf(text)) {
      if (slice.isLater) {
        yield emitRead();
        yield nextTurn();
      }
      yield* addWithPauses(parser.push(slice.text));
    }
  }

  function* readEvents(events: readonly ModelEvent[]): Generator<Promise<void> | undefined, void> {
    for (const event of events) {
      const isFirstChoice = !('choice' in event) || (event.choice ?? 0) === 0;
      if (event.type === 'text' && isFirstChoice) yield* readText(event.text);
      else if (event.type === 'finish' && isFirstChoice) finish = event.reason;
      else {
        if (event.type === 'tool-call') native.push(event.call);
        read.push(event);
      }
    }
    yield emitRead();
  }

  await backend.answer(request, (events) => runSteps(readEvents(events)));
  await runSteps(addWithPauses(parser.flush({ isCut: finish === 'length' })));
  const recovered = await withoutGiven(leaked, native);
  for (const call of recovered) {
    const message = `The model wrote a call of "${call.name}" into its text. It is taken as a call.`;
    read.push({ type: 'run-event', event: { type: 'warning', data: { code: 'call_rescued', message } } });
    read.push({ type: 'tool-call', call: { id: newCallId(), name: call.name, arguments: call.arguments } });
  }
  if (finish !== undefined) read.push({ type: 'finish', reason: recovered.length > 0 && finish === 'stop' ? 'tool_calls' : finish });
  await emitRead();
}

/** A damaged call of one of the gateway's functions: the loop never runs it, and tells the model what is wrong with it, as it does with a native one. */
function isMeant({ name, reason }: DamagedCall, specs: readonly ToolSpec[]): boolean {
  return reason !== 'unknown_name' && reason !== 'too_large' && specs.some((spec) => spec.name === name);
}

/** What is meant as a call and is not one stays what it is: nothing that a model says is lost. */
function leftAsText(piece: Exclude<AnswerPiece, { type: 'text' | 'reasoning' | 'call' | 'retraction' }>): ModelEvent[] {
  const text: ModelEvent = { type: 'text', text: piece.text };
  if (piece.type !== 'damaged') return [text];
  const name = piece.name === undefined ? 'a function' : `"${piece.name.slice(0, 200)}"`;
  const message = `The model wrote a call of ${name} into its text that cannot be made (${piece.reason}). It is left as text.`;
  return [{ type: 'run-event', event: { type: 'warning', data: { code: 'call_not_rescued', message } } }, text];
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
