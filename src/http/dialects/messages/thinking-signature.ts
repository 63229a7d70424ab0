import { isJsonObject, ownValue, type JsonObject } from '../../../shared/json/json.ts';
import type { ReturnedJson } from '../requests/returned-json.ts';

/**
 * The signatures of thinking blocks, and the data of redacted ones. To clients they are opaque. They say for which model, and in which field of its
 * backend, a client sends its reasoning back. Twelve bytes, so that it is a prefix in base64 too.
 */
const mark = 'toolwharf:1:';
const encodedMark = Buffer.from(mark).toString('base64');

/** The fields in which backends want reasoning back. */
const reasoningFields: ReadonlySet<string> = new Set(['reasoning_content', 'reasoning', 'thinking', 'reasoning_details']);

/** `field`: the backend's name of it; absent if the reasoning was part of the text, which no backend wants back. */
export function signThinking(model: string, field: string | undefined): string {
  return encode({ model, ...(field !== undefined && { field }) });
}

/** For fields that a backend wants back besides its reasoning. */
export function sealThought(model: string, fields: JsonObject): string {
  return encode({ model, fields });
}

/** Whom reasoning goes back to, and what reads it, which is one for each request. */
export interface ReasoningReader {
  model: string;
  returned: ReturnedJson;
}

/** The fields that a block of the assistant means for this model; undefined for blocks of other servers and of other models. */
export function reasoningIn(block: JsonObject, { model, returned }: ReasoningReader): JsonObject | undefined {
  const isThinking = block['type'] === 'thinking';
  const seal = decode(ownValue(block, isThinking ? 'signature' : 'data'), returned);
  if (seal === undefined || seal['model'] !== model) return undefined;
  if (!isThinking) return isJsonObject(seal['fields']) ? knownFields(seal['fields']) : undefined;
  const { field } = seal;
  const text = ownValue(block, 'thinking');
  if (typeof field !== 'string' || typeof text !== 'string' || text === '') return undefined;
  return knownFields({ [field]: text });
}

function knownFields(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([key]) => reasoningFields.has(key)));
}

function encode(seal: JsonObject): string {
  return Buffer.from(mark + JSON.stringify(seal)).toString('base64');
}

function decode(text: unknown, returned: ReturnedJson): JsonObject | undefined {
  if (typeof text !== 'string' || !text.startsWith(encodedMark)) return undefined;
  return returned.read(Buffer.from(text, 'base64').subarray(mark.length));
}
