import type { CallToolResult, ContentBlock, Tool as McpTool } from '@modelcontextprotocol/server';
import { chainKey } from '../../core/tools/gateway-chain.ts';
import { withoutStructure } from '../../core/tools/structured-result.ts';
import { isJsonObject, type JsonObject } from '../../shared/json/json.ts';
import { appViewsOf, shownMeta, type AppViews } from './app-views.ts';
import { toListedOutput } from './listed-output.ts';
import type { ListedTool, ToolDocument, ToolFile, ToolOutcome, ToolPassage } from '../../core/tools/tool.ts';

/**
 * A function as an MCP tool. Only known hints are set: clients ask their user less often before read-only calls.
 * `views`: those of all listed functions. `gatewayId` is put before the ids of the gateways that the function came through.
 */
export function toMcpTool(tool: ListedTool, gatewayId: string, views: AppViews = appViewsOf([tool])): McpTool {
  const { name, description, parameters, output, presentation, hints } = tool;
  const { isReadOnly, isIdempotent, gateways } = hints;
  const known = { ...(isReadOnly && { readOnlyHint: true }), ...(isIdempotent && { idempotentHint: true }) };
  const annotations = { ...presentation?.annotations, ...known };
  const outputSchema = output && toListedOutput(output);
  return {
    name,
    ...(presentation?.title !== undefined && { title: presentation.title }),
    description,
    // The root of a function's schema is an object (`ToolSpec`).
    inputSchema: { ...(presentation?.dialect !== undefined && { $schema: presentation.dialect }), ...parameters, type: 'object' },
    ...(outputSchema && { outputSchema }),
    ...(Object.keys(annotations).length > 0 && { annotations }),
    _meta: { ...shownMeta(tool, views), [chainKey]: [gatewayId, ...gateways] },
  };
}

interface ResultOptions {
  /** A text of their own before the result. */
  notices?: readonly string[];
  /** The schema of the function's results, as it is listed if clients can read it. */
  output?: JsonObject;
}

/** A failed call is a result with `isError`, so that the client's model can read it (MCP specification, server/tools, error handling). */
export function toMcpResult(outcome: ToolOutcome, { notices = [], output }: ResultOptions = {}): CallToolResult {
  const result = resultOf(outcome);
  const isMisfit = outcome.type === 'result' && (outcome.isMisfit === true || result.structuredContent === undefined);
  const whole = isMisfit && output !== undefined && toListedOutput(output) !== undefined ? asMisfit(result, outcome) : result;
  const meta = outcome.type === 'result' && outcome.meta && { _meta: outcome.meta };
  if (notices.length === 0) return { ...whole, ...meta };
  return { ...whole, ...meta, content: [{ type: 'text', text: `[${notices.join(' ')}]` }, ...whole.content] };
}

/** Clients refuse a result that does not match the schema of its tool, and their models would call again. They read errors unchecked. */
function asMisfit(result: CallToolResult, { note }: Extract<ToolOutcome, { type: 'result' }>): CallToolResult {
  const text = note ?? 'The call has run. Its result does not match the output schema of the tool, because it was cut or changed.';
  return { ...result, isError: true, content: [{ type: 'text', text: `[${text}]` }, ...result.content] };
}

function resultOf(outcome: ToolOutcome): CallToolResult {
  if (outcome.type === 'error') return { isError: true, content: [{ type: 'text', text: `${outcome.code}: ${outcome.message}` }] };
  const { value, files = [], documents = [], passages = [] } = outcome;
  if (typeof value === 'string') {
    const { structured } = outcome;
    const beside = structured === undefined ? undefined : withoutStructure(value, structured.value);
    if (!isJsonObject(structured?.value) || beside === undefined) return { content: contentOf(value, { files, documents, passages }) };
    return { content: contentOf(beside, { files, documents, passages }), structuredContent: structured.value };
  }
  const text: ContentBlock = { type: 'text', text: JSON.stringify(value, null, 2) };
  return { content: [text, ...files.map(toBlock)], ...(isJsonObject(value) && { structuredContent: value }) };
}

interface PlacedBlock {
  at: number;
  length: number;
  block: ContentBlock;
}

interface MarkedParts {
  files: readonly ToolFile[];
  documents: readonly ToolDocument[];
  passages: readonly ToolPassage[];
}

/** The text, with documents, passages and files at their positions; files that it does not mention follow. */
function contentOf(text: string, { files, documents, passages }: MarkedParts): ContentBlock[] {
  const shown = files.map((file) => ({ mark: file.mention, block: toBlock(file) }));
  const read = documents.map((document) => ({ mark: document.text, block: toResource(document) }));
  const other = passages.map((passage) => ({ mark: passage.text, block: passage.block as ContentBlock }));
  const placed = [...locate(shown, text), ...locate(read, text), ...locate(other, text, { isLines: true })].toSorted(
    (one, next) => one.at - next.at,
  );
  if (placed.length === 0 && (text !== '' || files.length === 0)) return [{ type: 'text', text }, ...shown.map(({ block }) => block)];
  const blocks: ContentBlock[] = [];
  let from = 0;
  for (const { at, length, block } of placed) {
    if (at < from) continue;
    blocks.push(...textBlocks(text.slice(from, at)), block);
    from = at + length;
  }
  blocks.push(...textBlocks(text.slice(from)));
  const isPlaced = new Set(blocks);
  return [...blocks, ...shown.flatMap(({ block }) => (isPlaced.has(block) ? [] : [block]))];
}

interface MarkedBlock {
  mark: string | undefined;
  block: ContentBlock;
}

/** Positions of the marks in the text, in order; blocks that the text does not mention are left out. `isLines`: a mark begins and ends with a line. */
function locate(marked: readonly MarkedBlock[], text: string, { isLines = false } = {}): PlacedBlock[] {
  const located: PlacedBlock[] = [];
  let from = 0;
  for (const { mark = '', block } of marked) {
    const at = mark === '' ? -1 : isLines ? indexOfLines(text, mark, from) : text.indexOf(mark, from);
    if (at < 0) continue;
    from = at + mark.length;
    located.push({ at, length: mark.length, block });
  }
  return located;
}

function indexOfLines(text: string, lines: string, from: number): number {
  return `\n${text}\n`.indexOf(`\n${lines}\n`, from);
}

/** Text between two blocks, without the line breaks that separated it from them. */
function textBlocks(between: string): ContentBlock[] {
  const text = between.replace(/^\n/, '').replace(/\n$/, '');
  return text === '' ? [] : [{ type: 'text', text }];
}

function toResource({ uri, type, text, annotations, meta }: ToolDocument): ContentBlock {
  const about = { ...(type !== undefined && { mimeType: type }), ...(meta && { _meta: meta }) };
  return { type: 'resource', resource: { uri, text, ...about }, ...(annotations && { annotations }) };
}

const textType = /^text\/|[/+](?:json|xml|yaml)$/;

function toBlock({ annotations, ...file }: ToolFile): ContentBlock {
  const block = toPlainBlock(file);
  return annotations === undefined ? block : { ...block, annotations };
}

function toPlainBlock({ type, url, name = 'file', uri }: ToolFile): ContentBlock {
  if (uri === undefined && type.startsWith('image/')) return { type: 'image', data: base64Of(url), mimeType: type };
  if (uri === undefined && type.startsWith('audio/')) return { type: 'audio', data: base64Of(url), mimeType: type };
  const resource = { uri: uri ?? `file:///${encodeURIComponent(name)}`, mimeType: type };
  if (textType.test(type)) return { type: 'resource', resource: { ...resource, text: bytesOf(url).toString('utf8') } };
  return { type: 'resource', resource: { ...resource, blob: base64Of(url) } };
}

const base64Mark = /;base64$/i;

function base64Of(url: string): string {
  const comma = url.indexOf(',');
  // Base64 stays as it is: decoding and encoding a large picture would block the event loop.
  return base64Mark.test(url.slice(0, comma)) ? url.slice(comma + 1) : bytesOf(url).toString('base64');
}

/** Data of a `data:` URI (RFC 2397), in base64 or percent-encoded. */
function bytesOf(url: string): Buffer {
  const comma = url.indexOf(',');
  const data = url.slice(comma + 1);
  if (base64Mark.test(url.slice(0, comma))) return Buffer.from(data, 'base64');
  const raw = Buffer.from(data, 'utf8').toString('latin1');
  return Buffer.from(
    raw.replaceAll(/%([0-9a-f]{2})/gi, (_match, digits: string) => String.fromCharCode(Number.parseInt(digits, 16))),
    'latin1',
  );
}
