import type { ContentPart } from '../../../core/chat/chat.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';

/** The types of pictures in chat completions, Responses and Messages. Ported clients send the parts of one API to another. */
const imageTypes: ReadonlySet<unknown> = new Set(['image_url', 'input_image', 'image']);

/** The picture of a part in the form of any of these APIs, whichever receives it. Undefined for other parts, and for a picture that is stored elsewhere. */
export function readImage(part: JsonObject): ContentPart | undefined {
  if (!imageTypes.has(part['type'])) return undefined;
  const { image_url: named, source } = part;
  const url = urlIn(named) ?? urlIn(source);
  if (url === undefined) return undefined;
  const detail = part['detail'] ?? (isJsonObject(named) ? named['detail'] : undefined);
  return { type: 'image_url', image_url: { url, ...(typeof detail === 'string' && { detail }) } };
}

/** A URL itself, or an object with one or with base64. */
function urlIn(value: JsonValue | undefined): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value;
  if (!isJsonObject(value)) return undefined;
  const { url, data, media_type: mediaType } = value;
  if (typeof url === 'string') return url;
  if (typeof data !== 'string') return undefined;
  if (data.startsWith('data:')) return data;
  return typeof mediaType === 'string' ? `data:${mediaType};base64,${data}` : undefined;
}

const textTypes: ReadonlySet<unknown> = new Set(['text', 'input_text', 'output_text', 'summary_text']);

/** Whether a part is a text in one of these APIs. */
export function isTextType(type: unknown): boolean {
  return textTypes.has(type);
}
