import type { JsonValue } from '../../../shared/json.ts';
import { limits } from '../../../core/limits.ts';
import type { FollowUp, ToolFile, ToolOutcome } from '../../../core/tool.ts';

const resultMark = Symbol.for('toolwharf.answer');

/** What `noReply`, `handoff` and `withFiles` give: something for the runtime, beside or in place of a result. */
export interface SpecialResult {
  readonly [resultMark]: true;
  readonly followUp?: FollowUp;
  readonly files?: readonly ToolFile[];
  readonly result: unknown;
}

/** Plain data, as it can come out of a thread too. */
export type FunctionOutcome = Extract<ToolOutcome, { type: 'result' }>;

/** A file of a function: bytes, or text. `type`: its media type, such as `image/png`; `uri`: where it lies, for those who can fetch it. */
export interface ReturnedFile {
  type: string;
  data: Uint8Array | string;
  name?: string;
  uri?: string;
}

/** The work is done silently: the run ends without another turn of the model, unless another call of the round needs one. */
export function noReply(): SpecialResult {
  return { [resultMark]: true, followUp: { type: 'no-reply' }, result: undefined };
}

/** The run goes on under another preset, which has the same conversation and, where there is one, the result. */
export function handoff(preset: string, result?: unknown): SpecialResult {
  if (typeof preset !== 'string' || preset === '') throw new TypeError('handoff: name the preset, as in handoff("support").');
  return { [resultMark]: true, followUp: { type: 'handoff', preset }, result };
}

const mediaType = /^[\w.+-]+\/[\w.+-]+$/;
const longestName = 200;
const longestUri = 2_048;

/**
 * A result with files for whoever can show them: in a chat they are in the event of the result, for an MCP client in its content. A model reads
 * the result alone; what it should know of a file has to be in it. `undefined` as result: it reads that there are files.
 * @throws TypeError, RangeError for more than a result may hold
 */
export function withFiles(result: unknown, files: readonly ReturnedFile[]): SpecialResult {
  if (!Array.isArray(files))
    throw new TypeError('withFiles: give a list, as in withFiles("a chart", [{ type: "image/png", data: bytes }]).');
  const made = files.map(toFile);
  if (made.reduce((sum, { url }) => sum + url.length, 0) > limits.keptResultBytes)
    throw new RangeError(`withFiles: files may have ${limits.keptResultBytes} bytes together, as base64; give an address instead.`);
  const special = isSpecialResult(result) ? result : { [resultMark]: true as const, result };
  return { ...special, files: [...(special.files ?? []), ...made] };
}

function toFile({ type, data, name, uri }: ReturnedFile): ToolFile {
  if (typeof type !== 'string' || !mediaType.test(type)) throw new TypeError('withFiles: type is a media type, such as "image/png".');
  if (typeof data !== 'string' && !(data instanceof Uint8Array))
    throw new TypeError('withFiles: data is bytes (Uint8Array, Buffer) or text; make bytes of base64 with Buffer.from(text, "base64").');
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

/** @throws Error for what is no JSON */
export function toOutcome(returned: unknown): FunctionOutcome {
  if (!isSpecialResult(returned)) return { type: 'result', value: toJson(returned) };
  const { followUp, files = [], result } = returned;
  if (followUp === undefined && result === undefined && files.length > 0) return toFilesAlone(files);
  const silent = followUp?.type === 'handoff' ? `The conversation goes on under "${followUp.preset}".` : '';
  return {
    type: 'result',
    value: result === undefined ? silent : toJson(result),
    ...(followUp && { followUp }),
    ...(files.length > 0 && { files: [...files] }),
  };
}

/** A model has to read something; a client that shows the files replaces the mention by the file. */
function toFilesAlone(files: readonly ToolFile[]): FunctionOutcome {
  const mentioned = files.map((file) => {
    const size = Math.ceil(file.sizeBytes / 1024);
    return { ...file, mention: `[file for the user: ${file.name ?? file.type}, ${size} kB]` };
  });
  return { type: 'result', value: mentioned.map(({ mention }) => mention).join('\n'), files: mentioned };
}

/** As JSON has it: what a function returned may change afterwards, and may be no plain object. */
export function toJson(value: unknown): JsonValue {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string' || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))) return value;
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer)
    throw new TypeError('the result is bytes; return them as a file, as in withFiles("a chart", [{ type: "image/png", data: bytes }])');
  const text: unknown = JSON.stringify(value);
  if (typeof text !== 'string')
    throw new TypeError(`the result is a ${typeof value}, which is no JSON; return text, a number, an object or a list`);
  if (text === '{}' && !isPlain(value)) {
    const kind = nameOf(value);
    const cure = kind === 'Response' ? 'return await response.text() or .json()' : 'return what it holds, as text, an object or a list';
    throw new TypeError(`the result is of the kind ${kind}, of which JSON keeps nothing; ${cure}`);
  }
  return JSON.parse(text) as JsonValue;
}

function isPlain(value: unknown): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

function nameOf(value: unknown): string {
  const maker: unknown = typeof value === 'object' && value !== null ? value.constructor : undefined;
  return typeof maker === 'function' && maker.name !== '' ? maker.name : Object.prototype.toString.call(value).slice(8, -1);
}
