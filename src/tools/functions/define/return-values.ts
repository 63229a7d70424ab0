import type { PlainJsonValue as JsonValue } from '../../../shared/json/json.ts';
import { limits } from '../../../core/limits.ts';
import type { FollowUp, ToolFile, ToolOutcome } from '../../../core/tools/tool.ts';

const resultMark = Symbol.for('toolwharf.answer');

/** What `noReply`, `handoff` and `withFiles` return: instructions for the runtime, with or without a result. */
interface SpecialResult {
  readonly [resultMark]: true;
  readonly followUp?: FollowUp;
  readonly files?: readonly ToolFile[];
  readonly result: unknown;
}

/** Structured-cloneable, because it may come from a worker thread. */
export type FunctionOutcome = Extract<ToolOutcome, { type: 'result' }>;

/** A file that a function returns: bytes or text. `type`: its media type, such as `image/png`; `uri`: where it can be fetched from. */
export interface ReturnedFile {
  type: string;
  data: Uint8Array | string;
  name?: string;
  uri?: string;
}

/** Ends the run without another model request, unless another call of the round needs one. */
export function noReply(): SpecialResult {
  return { [resultMark]: true, followUp: { type: 'no-reply' }, result: undefined };
}

/** Hands the conversation over to another preset, which also gets the result, if there is one. */
export function handoff(preset: string, result?: unknown): SpecialResult {
  if (typeof preset !== 'string' || preset === '') throw new TypeError('handoff: pass the id of a preset, as in handoff("support").');
  return { [resultMark]: true, followUp: { type: 'handoff', preset }, result };
}

const mediaType = /^[\w.+-]+\/[\w.+-]+$/;
const longestName = 200;
const longestUri = 2_048;

/**
 * Adds files to a result: chat clients get them in the result's event, MCP clients in the result's content. A model gets only the result, so describe
 * there what it needs to know of a file. With `undefined` as result, the model reads that there are files.
 * @throws TypeError; RangeError above the size limit of a result
 */
export function withFiles(result: unknown, files: readonly ReturnedFile[]): SpecialResult {
  if (!Array.isArray(files))
    throw new TypeError('withFiles: pass a list, as in withFiles("a chart", [{ type: "image/png", data: bytes }]).');
  const converted = files.map(toFile);
  if (converted.reduce((sum, { url }) => sum + url.length, 0) > limits.keptResultBytes)
    throw new RangeError(`withFiles: all files together may have at most ${limits.keptResultBytes} bytes as base64; return a URL instead.`);
  const special = isSpecialResult(result) ? result : { [resultMark]: true as const, result };
  return { ...special, files: [...(special.files ?? []), ...converted] };
}

function toFile({ type, data, name, uri }: ReturnedFile): ToolFile {
  if (typeof type !== 'string' || !mediaType.test(type)) throw new TypeError('withFiles: type must be a media type, such as "image/png".');
  if (typeof data !== 'string' && !(data instanceof Uint8Array))
    throw new TypeError('withFiles: data must be bytes (Uint8Array, Buffer) or text; decode base64 with Buffer.from(text, "base64").');
  const bytes = Buffer.from(data);
  return {
    type,
    url: `data:${type};base64,${bytes.toString('base64')}`,
    sizeBytes: bytes.length,
    ...(name !== undefined && { name: name.slice(0, longestName) }),
    ...(uri !== undefined && { uri: uri.slice(0, longestUri) }),
  };
}

function isSpecialResult(value: unknown): value is SpecialResult {
  return typeof value === 'object' && value !== null && resultMark in value;
}

/** @throws Error for a value that cannot be represented in JSON */
export function toOutcome(returned: unknown): FunctionOutcome {
  if (!isSpecialResult(returned)) return { type: 'result', value: toJson(returned) };
  const { followUp, files = [], result } = returned;
  if (followUp === undefined && result === undefined && files.length > 0) return toFilesAlone(files);
  const placeholder = followUp?.type === 'handoff' ? `The conversation goes on under "${followUp.preset}".` : '';
  return {
    type: 'result',
    value: result === undefined ? placeholder : toJson(result),
    ...(followUp && { followUp }),
    ...(files.length > 0 && { files: [...files] }),
  };
}

/** The model needs some text; a client that shows the files replaces each mention by its file. */
function toFilesAlone(files: readonly ToolFile[]): FunctionOutcome {
  const withMentions = files.map((file) => {
    const size = Math.ceil(file.sizeBytes / 1024);
    return { ...file, mention: `[file for the user: ${file.name ?? file.type}, ${size} kB]` };
  });
  return { type: 'result', value: withMentions.map(({ mention }) => mention).join('\n'), files: withMentions };
}

/** A JSON copy: what a function returned may change afterwards, and need not be plain data. */
export function toJson(value: unknown): JsonValue {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string' || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))) return value;
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer)
    throw new TypeError('the result is binary data; return it as a file, as in withFiles("a chart", [{ type: "image/png", data: bytes }])');
  const text: unknown = JSON.stringify(value);
  if (typeof text !== 'string')
    throw new TypeError(`the result is a ${typeof value}, which JSON cannot represent; return a string, a number, an object or a list`);
  if (text === '{}' && !isPlain(value)) {
    const className = nameOf(value);
    const cure =
      className === 'Response' ? 'return await response.text() or .json()' : 'return its content as a string, an object or a list';
    throw new TypeError(`the result is of type ${className}, of which JSON keeps nothing; ${cure}`);
  }
  return JSON.parse(text) as JsonValue;
}

function isPlain(value: unknown): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

function nameOf(value: unknown): string {
  const constructor: unknown = typeof value === 'object' && value !== null ? value.constructor : undefined;
  return typeof constructor === 'function' && constructor.name !== ''
    ? constructor.name
    : Object.prototype.toString.call(value).slice(8, -1);
}
