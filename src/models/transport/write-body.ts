import { setImmediate as nextTick } from 'node:timers/promises';
import type { ToolSpec } from '../../core/tools/tool.ts';
import { isContainer, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import type { MaybePromise } from '../../shared/async/maybe-promise.ts';
import { keepFor } from '../../shared/keep-last.ts';
import { hasMoreTextThan } from '../../shared/text/text-length.ts';

/** The JSON of the entries of functions. */
const texts = new WeakMap<object, string>();

/**
 * Makes the entries of `tools` for functions: the same object for the same function, so that its JSON is written once and not for each request. Cached by
 * the parameters, which are the same object in every request.
 */
export function createEntryCache(toEntry: (spec: ToolSpec) => JsonObject): (spec: ToolSpec) => JsonObject {
  const entries = new WeakMap<JsonObject, { spec: ToolSpec; entry: JsonObject }>();
  return (spec) => {
    const known = entries.get(spec.parameters);
    if (known !== undefined && isSame(known.spec, spec)) return known.entry;
    const copy = { ...spec };
    const entry = toEntry(copy);
    entries.set(copy.parameters, { spec: copy, entry });
    texts.set(entry, JSON.stringify(entry));
    return entry;
  };
}

/** A function as an entry of `tools` in chat completions. */
export const toFunctionEntry = createEntryCache((spec) => ({ type: 'function', function: { ...spec } }));

/** The entries of all functions: the same array for the same list of functions, so that their JSON is joined once. Nobody changes it. */
export const toFunctionEntries = keepFor((tools: readonly ToolSpec[]): JsonObject[] => tools.map(toFunctionEntry));

function isSame(one: ToolSpec, other: ToolSpec): boolean {
  return one.name === other.name && one.description === other.description && one.strict === other.strict;
}

/**
 * With more characters of text, a body is written over several ticks of the event loop: characters that have to be escaped cost several times what
 * plain ones do. Values need no limit of their own, because a request has at most 50,000.
 */
const inPlaceCharacters = 512 * 1024;
/** What is written in one turn. */
const charactersPerTick = 256 * 1024;

/** The JSON of a request's body. In place, `tools` comes last. */
export function writeBody(body: JsonObject): MaybePromise<string | Uint8Array> {
  if (!Array.isArray(body['tools']) || body['tools'].length === 0)
    return hasMoreTextThan(body, inPlaceCharacters) ? writeInTurns(body) : JSON.stringify(body);
  const { tools, ...others } = body;
  if (hasMoreTextThan(others, inPlaceCharacters)) return writeInTurns(body);
  const text = JSON.stringify(others).slice(0, -1);
  return Buffer.concat([Buffer.from(text === '{' ? text : `${text},`), toolsOf(Array.isArray(tools) ? tools : [])]);
}

/** The end of a body: its `tools`, in bytes, because they are many times what is before them. */
const toolsOf = keepFor((tools: readonly JsonValue[]): Buffer => {
  const entries = tools.map((tool) => (isContainer(tool) ? texts.get(tool) : undefined) ?? JSON.stringify(tool));
  return Buffer.from(`"tools":[${entries.join(',')}]}`);
});

async function writeInTurns(body: JsonObject): Promise<Uint8Array> {
  const written: Buffer[] = [];
  let waiting = '';
  for (const piece of piecesOf(body)) {
    waiting += piece;
    if (waiting.length < charactersPerTick) continue;
    written.push(Buffer.from(waiting));
    waiting = '';
    await nextTick();
  }
  return Buffer.concat([...written, Buffer.from(waiting)]);
}

/** Together they are the JSON of the value, and none of them is much longer than what is written in one turn. */
function* piecesOf(value: JsonValue): Generator<string, void> {
  if (typeof value === 'string' && value.length > charactersPerTick) return yield* piecesOfText(value);
  if (!isContainer(value) || !hasMoreTextThan(value, charactersPerTick)) return yield JSON.stringify(value);
  if (Array.isArray(value)) {
    yield '[';
    for (const [index, entry] of value.entries()) {
      if (index > 0) yield ',';
      yield* piecesOf(entry);
    }
    return yield ']';
  }
  let separator = '{';
  for (const [name, field] of Object.entries(value)) {
    if (field === undefined) continue;
    yield `${separator}${JSON.stringify(name)}:`;
    yield* piecesOf(field);
    separator = ',';
  }
  return yield separator === '{' ? '{}' : '}';
}

function* piecesOfText(text: string): Generator<string, void> {
  yield '"';
  for (let start = 0, end = 0; start < text.length; start = end) {
    end = start + charactersPerTick;
    // Both halves of a surrogate pair belong to one piece.
    if (isHighSurrogate(text.charCodeAt(end - 1))) end += 1;
    yield JSON.stringify(text.slice(start, end)).slice(1, -1);
  }
  yield '"';
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00;
}
