import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import { isDeeperThan } from '../../shared/json.ts';
import { hasMoreValuesThan } from '../../shared/json-depth.ts';
import type { JsonValue } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';
import type { ToolDocument, ToolFile, ToolOutcome } from '../../core/tool.ts';

/** An error is for a model to read, not a document. */
const longestErrorText = 8_000;
/** As of an HTTP answer without a body: a model that reads nothing at all takes it for a failure. */
const emptyAnswer = 'Done, with an empty answer.';
const longestUri = 2_048;
const mediaType = /^[\w.+-]+\/[\w.+-]+$/;

interface Content {
  texts: string[];
  files: ToolFile[];
  documents: ToolDocument[];
  isCut: boolean;
}

/**
 * What a call to an MCP server came to. A structured result is the value; else the texts are, one after the other. What is no text is in the
 * files, and words say so in its stead. `server` is named in errors, so that they are not taken for the gateway's own.
 */
export function readToolResult(result: CallToolResult, server: string): ToolOutcome {
  const { texts, files, documents, isCut } = readContent(result.content);
  if (result.isError === true) {
    const text = texts.join('\n').slice(0, longestErrorText) || 'without saying why';
    return { type: 'error', code: 'tool_error', message: `The MCP server "${server}" reports an error: ${text}` };
  }
  const structured = structuredValue(result.structuredContent);
  // Texts beside a structured result are the same once more, for clients that know no structure (specification, server/tools).
  const value = structured ?? (texts.join('\n') || emptyAnswer);
  return {
    type: 'result',
    value,
    ...(isCut && structured === undefined && { isTruncated: true }),
    ...(files.length > 0 && { files }),
    ...(documents.length > 0 && structured === undefined && { documents }),
  };
}

function structuredValue(value: unknown): JsonValue | undefined {
  if (value === undefined || value === null) return undefined;
  if (isDeeperThan(value, limits.jsonDepth)) return undefined;
  const text = JSON.stringify(value);
  if (text.length > limits.keptResultBytes) return undefined;
  return hasMoreValuesThan(text, limits.resultValues) ? text : (value as JsonValue);
}

/** In the order of the blocks; a file is mentioned in words. */
function readContent(blocks: readonly ContentBlock[]): Content {
  const content: Content = { texts: [], files: [], documents: [], isCut: blocks.length > limits.mcpContentBlocks };
  let room: number = limits.keptResultBytes;
  for (const block of blocks.slice(0, limits.mcpContentBlocks)) {
    const read = readBlock(block);
    const size = typeof read === 'string' ? read.length : read.url.length;
    if (size > room) {
      content.isCut = true;
      content.texts.push(
        typeof read === 'string' ? `${read.slice(0, room)}\n[cut: the result is too large]` : `${describeFile(read)} It was too large.`,
      );
      break;
    }
    room -= size;
    if (typeof read === 'string') {
      content.texts.push(read);
      content.documents.push(...documentsIn(block));
    } else {
      const mention = describeFile(read);
      content.texts.push(mention);
      content.files.push({ ...read, mention });
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
  const { uri, mimeType, text } = block.resource;
  if (uri.length > longestUri) return [];
  return [{ uri, ...(mimeType !== undefined && mediaType.test(mimeType) && { type: mimeType }), text }];
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
    ...(uri !== '' && uri.length <= longestUri && { uri }),
  };
}

function describeFile({ type, sizeBytes }: ToolFile): string {
  return `The server sent a file of the type ${type} with ${sizeBytes} bytes. It is not text and is not shown.`;
}
