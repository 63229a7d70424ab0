import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import { isDeeperThan, type JsonValue } from '../../shared/json/json.ts';
import { hasMoreValuesThan } from '../../shared/json/json-depth.ts';
import { limits } from '../../core/limits.ts';
import type { ToolDocument, ToolFile, ToolOutcome } from '../../core/tools/tool.ts';

/** Characters; an error message is not a document. */
const maxErrorCharacters = 8_000;
/** The same text as for an HTTP response without a body; a model takes an empty result for a failure. */
const emptyAnswer = 'Done, with an empty answer.';
const maxUriCharacters = 2_048;
const mediaType = /^[\w.+-]+\/[\w.+-]+$/;

interface Content {
  texts: string[];
  files: ToolFile[];
  documents: ToolDocument[];
  isTruncated: boolean;
}

/**
 * Converts the result of an MCP call. A structured result is the value; otherwise the text blocks are, joined. Other content becomes files, mentioned
 * in the text. `server` is named in errors, so that they are not taken for the gateway's.
 */
export function readToolResult(result: CallToolResult, server: string): ToolOutcome {
  const { texts, files, documents, isTruncated } = readContent(result.content);
  if (result.isError === true) {
    const text = texts.join('\n').slice(0, maxErrorCharacters) || 'without saying why';
    return { type: 'error', code: 'tool_error', message: `The MCP server "${server}" reports an error: ${text}` };
  }
  const structured = structuredValue(result.structuredContent);
  // Text blocks beside a structured result repeat it for clients without support for structure (MCP specification, server/tools).
  const value = structured ?? (texts.join('\n') || emptyAnswer);
  return {
    type: 'result',
    value,
    ...(isTruncated && structured === undefined && { isTruncated: true }),
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

/** Keeps the order of the blocks; a file is mentioned in the text. */
function readContent(blocks: readonly ContentBlock[]): Content {
  const content: Content = { texts: [], files: [], documents: [], isTruncated: blocks.length > limits.mcpContentBlocks };
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
  if (uri.length > maxUriCharacters) return [];
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
    ...(uri !== '' && uri.length <= maxUriCharacters && { uri }),
  };
}

function describeFile({ type, sizeBytes }: ToolFile): string {
  return `The server sent a file of the type ${type} with ${sizeBytes} bytes. It is not text and is not shown.`;
}
