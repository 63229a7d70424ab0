import { isContainer, isJsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { ArgumentError } from './argument-error.ts';
import { asItIs, percentEncoder } from './encode-text.ts';
import { essenceOf, isRange } from '../media-types.ts';
import { fileNameFor, multipartBody, type BodyPart } from './multipart-body.ts';
import type { ArgumentBinding, BodyPlan } from '../../definitions/operation.ts';
import { readFileArgument } from './read-file-argument.ts';
import { joinPairs, scalarText, toPairs } from './serialize-parameter.ts';

/** An argument that is sent, and where it goes. */
export interface BoundValue {
  binding: ArgumentBinding;
  value: JsonValue;
}

interface BuiltBody {
  /** The content type. */
  type: string;
  content: string | Uint8Array;
}

/**
 * The body of a call. An optional body without arguments is not sent, and neither is its type.
 * @throws ArgumentError for a value that cannot be written in the body's type.
 */
export function buildBody(plan: BodyPlan | undefined, values: readonly BoundValue[]): BuiltBody | undefined {
  if (plan === undefined) return undefined;
  const parts = values.filter(({ binding }) => binding.in === 'body');
  if (parts.length === 0 && !plan.isRequired) return undefined;
  const { mediaType, format = 'json' } = plan;
  const fields = plan.kind === 'whole' && (format === 'form' || format === 'multipart') ? membersOf(parts) : parts;
  switch (format) {
    case 'form':
      return { type: mediaType, content: joinPairs(fields.flatMap(pairsOf)) };
    case 'multipart':
      return multipartBody(fields.flatMap(partsOf));
    case 'text':
      return withFirst(parts, ({ value }) => ({ type: mediaType, content: scalarText(value) }));
    case 'file':
      return withFirst(parts, (file) => fileBody(mediaType, file));
    case 'json':
      return jsonBody(plan, parts);
  }
}

function jsonBody({ mediaType, kind }: BodyPlan, parts: readonly BoundValue[]): BuiltBody | undefined {
  if (kind === 'whole') return withFirst(parts, ({ value }) => ({ type: mediaType, content: JSON.stringify(value) }));
  const properties = parts.map(({ binding, value }): [string, JsonValue] => [binding.name, value]);
  return { type: mediaType, content: JSON.stringify(Object.fromEntries(properties)) };
}

function withFirst(parts: readonly BoundValue[], build: (part: BoundValue) => BuiltBody): BuiltBody | undefined {
  const [first] = parts;
  return first === undefined ? undefined : build(first);
}

/** A form whose fields the document does not name is one object. */
function membersOf([whole]: readonly BoundValue[]): BoundValue[] {
  const members = isJsonObject(whole?.value) ? Object.entries(whole.value) : [];
  const { argument = 'body' } = whole?.binding ?? {};
  return members.flatMap(([name, value]): BoundValue[] =>
    value === undefined ? [] : [{ binding: { argument: `${argument}.${name}`, in: 'body', name, isRequired: false }, value }],
  );
}

function pairsOf({ binding, value }: BoundValue): ReturnType<typeof toPairs> {
  if (value === null) return [];
  return toPairs(binding, value, percentEncoder(binding.argument, binding.allowReserved && 'query'));
}

/** Lists repeat the part, each item with the field's name (RFC 7578 section 4.3). */
function partsOf({ binding, value }: BoundValue): BodyPart[] {
  if (value === null) return [];
  const { name, part, style } = binding;
  if (style !== undefined) return toPairs(binding, value, asItIs).map(([field, content]) => ({ name: field, content }));
  if (part?.kind === 'json') return [{ name, content: JSON.stringify(value), type: part.type ?? 'application/json' }];
  const items = Array.isArray(value) ? value.filter((item) => item !== null) : [value];
  return items.map((item, index) => partOf(binding, item, index + 1));
}

/** Unnamed files are numbered: a server that stores files by name would otherwise keep only the last one. */
function partOf({ argument, name, part }: ArgumentBinding, item: JsonValue, number: number): BodyPart {
  if (isContainer(item)) return { name, content: JSON.stringify(item), type: part?.type ?? 'application/json' };
  if (part?.kind !== 'file') return { name, content: scalarText(item), ...(part?.type !== undefined && { type: part.type }) };
  const file = readFileArgument(argument, scalarText(item));
  // The type that the model gives for this file is more exact than the document's type for all files.
  const type = file.type ?? part.type ?? (typeof file.bytes === 'string' ? 'text/plain' : 'application/octet-stream');
  return { name, content: file.bytes, type, fileName: file.name ?? fileNameFor(number === 1 ? name : `${name}-${number}`, type) };
}

/** The declared type, unless that is a range or says nothing: then what the model says the file is. */
function fileBody(mediaType: string, { binding, value }: BoundValue): BuiltBody {
  const file = readFileArgument(binding.argument, scalarText(value));
  if (!isRange(mediaType)) return { type: mediaType, content: file.bytes };
  const prefix = essenceOf(mediaType).split('*', 1)[0] ?? '';
  if (file.type !== undefined && file.type.startsWith(prefix === '*/' ? '' : prefix)) return { type: file.type, content: file.bytes };
  if (prefix !== '' && prefix !== '*/')
    throw new ArgumentError(
      `${binding.argument}: must be a file of the type ${mediaType}, as a data: URI that begins with "data:${prefix}"`,
    );
  return { type: 'application/octet-stream', content: file.bytes };
}
