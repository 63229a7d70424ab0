import type {
  Base64ImageSource,
  CacheControlEphemeral,
  ContentBlockParam,
  DocumentBlockParam,
  ImageBlockParam,
  TextBlockParam,
} from '@anthropic-ai/sdk/resources/messages';

import type { ContentPart, MessageContent } from '../../core/chat/chat.ts';
import { invalidField } from '../../core/errors.ts';
import { isJsonObject, ownValue, type JsonObject } from '../../shared/json/json.ts';

/** Where content is in the request. `isNew`: it is what the model has to answer, so no part of it may be left out. */
export interface ContentPlace {
  path: string;
  isNew: boolean;
}

/** Blocks that results may have. */
export type PlainBlock = TextBlockParam | ImageBlockParam | DocumentBlockParam;

/** Parts of Anthropic's own form, which clients send through other dialects too. */
const ownTypes: ReadonlySet<string> = new Set(['image', 'document', 'search_result', 'tool_reference', 'container_upload']);

/** Blank texts are left out: Anthropic refuses them. @throws GatewayError `invalid_request` */
export function toBlocks(content: MessageContent | null, place: ContentPlace): PlainBlock[] {
  if (content === null) return [];
  if (typeof content === 'string') return textBlocks(content);
  return content.flatMap((part, index) => toBlock(part, { ...place, path: `${place.path}.${index}` }));
}

/** Half a surrogate pair, as in a text that was cut, is refused too. */
export function textBlocks(text: string): TextBlockParam[] {
  return text.trim() === '' ? [] : [{ type: 'text', text: text.toWellFormed() }];
}

/** The text of a message as blocks, with their cache marks; parts of other types are left out. */
export function toTextBlocks(content: MessageContent | null): TextBlockParam[] {
  if (content === null || typeof content === 'string') return textBlocks(content ?? '');
  return content.flatMap((part) => {
    // A refusal of an OpenAI model is something that it has said.
    const text = part.type === 'refusal' ? ownValue(part, 'refusal') : part.text;
    return typeof text === 'string' ? textBlocks(text).map((block) => ({ ...block, ...cacheMarkOf(part) })) : [];
  });
}

/** The mark up to which Anthropic caches a prompt, as a caller has set it. */
export function cacheMarkOf(object: JsonObject | undefined): { cache_control?: CacheControlEphemeral } {
  const mark = object === undefined ? undefined : ownValue(object, 'cache_control');
  return isJsonObject(mark) ? { cache_control: mark as unknown as CacheControlEphemeral } : {};
}

/** A mark on a message counts for its last block that can have one. */
export function withCacheMark<Block extends ContentBlockParam>(blocks: Block[], extra: JsonObject | undefined): Block[] {
  const mark = cacheMarkOf(extra);
  const last = blocks.findLastIndex(({ type }) => type !== 'thinking' && type !== 'redacted_thinking');
  if (mark.cache_control === undefined || last === -1) return blocks;
  return blocks.map((block, index) => (index === last ? { ...block, ...mark } : block));
}

function toBlock(part: ContentPart, place: ContentPlace): PlainBlock[] {
  if (part.type === 'text' && typeof part.text === 'string')
    return textBlocks(part.text).map((block) => ({ ...block, ...cacheMarkOf(part) }));
  if (ownTypes.has(part.type)) return [part as PlainBlock];
  const block = part.type === 'image_url' ? imageBlock(part) : part.type === 'file' ? documentBlock(part) : undefined;
  if (block !== undefined) return [{ ...block, ...cacheMarkOf(part) }];
  const type = part.type.slice(0, 50);
  if (place.isNew) {
    const cure = `Remove the part of type "${type}", or send it as an image, a PDF or text, inline or by its URL.`;
    throw invalidField(place.path, `Anthropic's API takes texts, images and documents only. ${cure}`);
  }
  // A part of the history must not make every later request of the chat fail.
  return [{ type: 'text', text: `[A part of type "${type}", which this model cannot read, was left out here.]` }];
}

/** `data:image/png;base64,AAAA`, with any number of parameters before `;base64`. */
const dataUri = /^data:([^;,]*)(?:;[^,]*)?;base64,/iu;
const webAddress = /^https?:/iu;

function imageBlock(part: ContentPart): ImageBlockParam | undefined {
  const image = ownValue(part, 'image_url');
  const url = isJsonObject(image) ? ownValue(image, 'url') : image;
  if (typeof url !== 'string') return undefined;
  if (webAddress.test(url)) return { type: 'image', source: { type: 'url', url } };
  const inline = readDataUri(url);
  if (inline === undefined) return undefined;
  const mediaType = inline.mediaType === 'image/jpg' ? 'image/jpeg' : inline.mediaType;
  return { type: 'image', source: { type: 'base64', media_type: mediaType as Base64ImageSource['media_type'], data: inline.data } };
}

/** OpenAI's `{"type": "file", "file": {"filename", "file_data"}}`, or the id of a file that Anthropic has stored. */
function documentBlock(part: ContentPart): DocumentBlockParam | undefined {
  const file = ownValue(part, 'file');
  if (!isJsonObject(file)) return undefined;
  const { file_id: id, file_data: data, filename } = file;
  const title = typeof filename === 'string' && filename !== '' ? { title: filename } : {};
  if (typeof id === 'string') return { type: 'document', source: { type: 'file', file_id: id }, ...title };
  if (typeof data !== 'string') return undefined;
  if (webAddress.test(data)) return { type: 'document', source: { type: 'url', url: data }, ...title };
  const inline = readDataUri(data);
  if (inline === undefined) return undefined;
  if (inline.mediaType === 'application/pdf')
    return { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: inline.data }, ...title };
  if (!inline.mediaType.startsWith('text/')) return undefined;
  const text = Buffer.from(inline.data, 'base64').toString();
  return { type: 'document', source: { type: 'text', media_type: 'text/plain', data: text }, ...title };
}

function readDataUri(uri: string): { mediaType: string; data: string } | undefined {
  const found = dataUri.exec(uri);
  return found === null ? undefined : { mediaType: (found[1] ?? '').toLowerCase(), data: uri.slice(found[0].length) };
}
