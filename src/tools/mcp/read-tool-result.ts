import { isDeepStrictEqual } from 'node:util';
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import { parseJson } from '../../shared/json/parse-exactly.ts';
import { isDeeperThan, isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { hasMoreValuesThan } from '../../shared/json/json-depth.ts';
import { withoutUndefined } from '../../shared/json/without-undefined.ts';
import { limits } from '../../core/limits.ts';
import { withStructure } from '../../core/tools/structured-result.ts';
import { createSecretMask } from '../../shared/secrets/secret-mask.ts';
import { passedMeta } from './passed-meta.ts';
import type { ToolDocument, ToolFile, ToolOutcome, ToolPassage } from '../../core/tools/tool.ts';

/** Characters; an error message is not a document. */
const maxErrorCharacters = 8_000;
/** The same text as for an HTTP response without a body; a model takes an empty result for a failure. */
const emptyAnswer = 'Done, with an empty answer.';
const maxUriCharacters = 2_048;
const mediaType = /^[\w.+-]+\/[\w.+-]+$/;
/** Also with parameters, as interfaces have them (`text/html;profile=mcp-app`). */
const documentType = /^[\w.+-]+\/[\w.+-]+(?:; ?[\w-]{1,50}=[\w.+-]{1,100}){0,4}$/;

/** Credentials are removed from the whole outcome later. */
const noMask = createSecretMask([]);

interface Content {
  texts: string[];
  files: ToolFile[];
  documents: ToolDocument[];
  passages: ToolPassage[];
  isTruncated: boolean;
}

/**
 * Converts the result of an MCP call. A structured result is the value if the text blocks only repeat it; otherwise the value is the text, with the structure
 * after it. Other content becomes files, mentioned in the text. `isDeclared`: the tool has an output schema. `server` is named in errors, so that they are not taken for the gateway's.
 */
export function readToolResult(result: CallToolResult, server: string, isDeclared = false): ToolOutcome {
  const { texts, files, documents, passages, isTruncated } = readContent(result.content);
  if (result.isError === true) {
    const text = texts.join('\n').slice(0, maxErrorCharacters) || 'without saying why';
    return { type: 'error', code: 'tool_error', message: `The MCP server "${server}" reports an error: ${text}` };
  }
  const structured = structuredValue(result.structuredContent);
  const isRepeated = structured !== undefined && repeats(texts, structured);
  const said = texts.join('\n') || emptyAnswer;
  const value = structured === undefined ? said : isRepeated ? structured : withStructure(said, structured);
  return {
    type: 'result',
    value,
    ...(structured !== undefined && !isRepeated && { structured: { value: structured, isDeclared } }),
    ...(isTruncated && !isRepeated && { isTruncated: true }),
    ...(files.length > 0 && { files }),
    ...(documents.length > 0 && !isRepeated && { documents }),
    ...(passages.length > 0 && !isRepeated && { passages }),
  };
}

/**
 * Whether the text says what the structure says, as servers do for clients that read text alone (MCP specification, server/tools): as JSON, as a list with a
 * block for each entry, or as the text that SDKs put into a structure with the only member `result`.
 */
function repeats(texts: readonly string[], structured: JsonValue): boolean {
  const results =
    isJsonObject(structured) && Object.keys(structured).join() === 'result' ? [structured, structured['result'] ?? null] : [structured];
  const said = texts.join('\n');
  if (said.trim() === '') return true;
  return results.some((value) => {
    if (value === said || isSame(parseJson(said), value)) return true;
    return (
      Array.isArray(value) &&
      value.length === texts.length &&
      value.every((entry, index) => isSame(readBack(texts[index]), entry) || texts[index] === entry)
    );
  });
}

const readBack = (text: string | undefined): JsonValue | undefined => (text === undefined ? undefined : parseJson(text));

function isSame(said: JsonValue | undefined, value: JsonValue): boolean {
  return said !== undefined && isDeepStrictEqual(said, value);
}

function structuredValue(value: unknown): JsonValue | undefined {
  if (value === undefined || value === null) return undefined;
  if (isDeeperThan(value, limits.jsonDepth)) return undefined;
  const text = JSON.stringify(value);
  if (text.length > limits.keptResultBytes) return undefined;
  return hasMoreValuesThan(text, limits.resultValues) ? text : (value as JsonValue);
}

/** Keeps the order of the blocks; a file is mentioned in the text. */
function readContent(blocks: readonly ContentBlock[]): Content {
  const content: Content = { texts: [], files: [], documents: [], passages: [], isTruncated: blocks.length > limits.mcpContentBlocks };
  let remaining: number = limits.keptResultBytes;
  for (const block of blocks.slice(0, limits.mcpContentBlocks)) {
    const read = readBlock(block);
    const size = typeof read === 'string' ? read.length : read.url.length;
    if (size > remaining) {
      content.isTruncated = true;
      content.texts.push(
        typeof read === 'string'
          ? `${read.slice(0, remaining)}\n[truncated: the result is too large]`
          : `${describeFile(read)} It is too large and was discarded.`,
      );
      break;
    }
    remaining -= size;
    if (typeof read === 'string') {
      content.texts.push(read);
      content.documents.push(...documentsIn(block));
      content.passages.push(...passagesIn(block, read));
    } else {
      const mention = describeFile(read);
      content.texts.push(mention);
      content.files.push({ ...read, mention, ...annotationsOf(block) });
    }
  }
  return content;
}

function readBlock(block: ContentBlock): string | ToolFile {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'image':
    case 'audio':
      return toFile(block.data, { type: block.mimeType });
    case 'resource_link':
      return `[${block.name}](${block.uri})${block.description === undefined ? '' : ` ${block.description}`}`;
    case 'resource': {
      const { resource } = block;
      return 'text' in resource ? resource.text : toFile(resource.blob, { type: resource.mimeType, uri: resource.uri });
    }
  }
}

function documentsIn(block: ContentBlock): ToolDocument[] {
  if (block.type !== 'resource' || !('text' in block.resource)) return [];
  const { uri, mimeType, text, _meta } = block.resource;
  if (uri.length > maxUriCharacters) return [];
  const isType = mimeType !== undefined && mimeType.length <= limits.mcpNameCharacters && documentType.test(mimeType);
  const meta = passedMeta(_meta, noMask);
  return [{ uri, ...(isType && { type: mimeType }), text, ...annotationsOf(block), ...(meta && { meta }) }];
}

function passagesIn(block: ContentBlock, text: string): ToolPassage[] {
  if (block.type === 'resource_link' && block.uri.length <= maxUriCharacters) {
    const { type, uri, name, title, description, mimeType, size } = block;
    return [{ text, block: { ...withoutUndefined({ type, uri, name, title, description, mimeType, size }), ...annotationsOf(block) } }];
  }
  const { annotations } = annotationsOf(block);
  return block.type === 'text' && annotations !== undefined && text !== '' ? [{ text, block: { type: 'text', text, annotations } }] : [];
}

/** For whom a block is meant, how important it is, and when it was changed. */
function annotationsOf({ annotations }: ContentBlock): { annotations?: JsonObject } {
  const { audience, priority, lastModified } = annotations ?? {};
  const known = withoutUndefined({ audience, priority, lastModified });
  return Object.keys(known).length > 0 ? { annotations: known } : {};
}

function toFile(base64: string, { type = '', uri = '' }: { type?: string | undefined; uri?: string }): ToolFile {
  const name = uri.split('/').at(-1) ?? '';
  const known = mediaType.test(type) ? type : 'application/octet-stream';
  const clean = base64.replaceAll(/[^A-Za-z0-9+/=_-]/g, '');
  const sizeBytes = Math.floor((clean.replaceAll('=', '').length * 3) / 4);
  return {
    type: known,
    url: `data:${known};base64,${clean}`,
    sizeBytes,
    ...(name !== '' && { name: name.slice(0, 200) }),
    ...(uri !== '' && uri.length <= maxUriCharacters && { uri }),
  };
}

function describeFile({ type, sizeBytes }: ToolFile): string {
  return `The server sent a file of the type ${type} with ${sizeBytes} bytes. It is not text and is not shown.`;
}
