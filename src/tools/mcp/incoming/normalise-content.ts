import { specTypeSchemas } from '@modelcontextprotocol/client';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { fitted } from './fit-schema.ts';
import { misfitPaths } from './find-misfit.ts';

/** Of a part that nobody can read, so that the model learns what it was. */
const shownCharacters = 2_000;

const blockSchemas = {
  text: specTypeSchemas.TextContent,
  image: specTypeSchemas.ImageContent,
  audio: specTypeSchemas.AudioContent,
  resource_link: specTypeSchemas.ResourceLink,
  resource: specTypeSchemas.EmbeddedResource,
} as const;

/** The content of a result, which some servers give as a single block or as a text. */
export function normaliseBlocks(content: JsonValue | undefined): JsonObject[] {
  if (content === undefined || content === null) return [];
  return (Array.isArray(content) ? content : [content]).map(normaliseBlock);
}

/** A block as the protocol has it. What is none, or of a type that is not known, becomes a text that shows it. */
export function normaliseBlock(block: JsonValue): JsonObject {
  if (typeof block === 'string') return { type: 'text', text: block };
  const type = isJsonObject(block) ? block['type'] : undefined;
  if (!isJsonObject(block) || typeof type !== 'string' || !Object.hasOwn(blockSchemas, type)) return shownAsText(block);
  const schema = blockSchemas[type as keyof typeof blockSchemas];
  const read = fitted(schema, repaired(type as keyof typeof blockSchemas, block));
  return misfitPaths(schema, read) === undefined ? read : shownAsText(block);
}

function shownAsText(block: JsonValue): JsonObject {
  const { type, text } = isJsonObject(block) ? block : {};
  if (type === undefined && typeof text === 'string') return { type: 'text', text };
  const written = JSON.stringify(block);
  const shown = written.length > shownCharacters ? `${written.slice(0, shownCharacters).toWellFormed()}…` : written;
  return { type: 'text', text: `[A part of the result in a form that MCP does not have: ${shown}]` };
}

function repaired(type: keyof typeof blockSchemas, block: JsonObject): JsonObject {
  switch (type) {
    case 'text': {
      const { text } = block;
      return { ...block, ...(typeof text !== 'string' && text !== undefined && { text: JSON.stringify(text) }) };
    }
    case 'image':
    case 'audio':
      return withData(block, 'data', type === 'image' ? 'image/png' : 'audio/wav');
    case 'resource_link': {
      const { uri, name } = block;
      if (typeof name === 'string' || typeof uri !== 'string') return block;
      return { ...block, name: uri.split('/').findLast((part) => part !== '') ?? uri };
    }
    case 'resource': {
      const { resource } = block;
      if (!isJsonObject(resource)) return block;
      const { uri, text, blob } = resource;
      const located = { ...resource, uri: typeof uri === 'string' ? uri : '' };
      if (typeof blob === 'string' && text === undefined) return { ...block, resource: withData(located, 'blob', undefined) };
      return { ...block, resource: { ...located, text: typeof text === 'string' ? text : text === undefined ? '' : JSON.stringify(text) } };
    }
  }
}

/** Characters of the head of a `data:` URI: a media type with its parameters. */
const longestHead = 300;
const typeOfHead = /^data:([\w.+-]+\/[\w.+-]+)[;,]/;

/** Binary data in base64, which some servers write in the alphabet of URLs (RFC 4648, section 5), with line breaks, or as a `data:` URI. */
function withData(block: JsonObject, key: string, assumedType: string | undefined): JsonObject {
  const { [key]: data, mimeType } = block;
  if (typeof data !== 'string') return block;
  const head = headOf(data);
  const base64 = withoutPadding(data.slice(head.length).replaceAll('-', '+').replaceAll('_', '/').replaceAll(/\s+/g, ''));
  const type = typeof mimeType === 'string' ? mimeType : (typeOfHead.exec(head)?.[1] ?? assumedType);
  return { ...block, [key]: base64.padEnd(Math.ceil(base64.length / 4) * 4, '='), ...(type !== undefined && { mimeType: type }) };
}

/** `data:…,`, or nothing. */
function headOf(data: string): string {
  const start = data.slice(0, longestHead);
  return start.startsWith('data:') ? start.slice(0, start.indexOf(',') + 1) : '';
}

/** Not by a pattern, which would begin anew at each of a million equals signs. */
function withoutPadding(base64: string): string {
  let end = base64.length;
  while (base64.charAt(end - 1) === '=') end -= 1;
  return base64.slice(0, end);
}
