import type { CallerWarning } from '../../../core/chat/caller-warning.ts';
import type { CallerFunction, RequestMcpServer } from '../../../core/chat/chat.ts';
import { invalidField, type GatewayError } from '../../../core/errors.ts';
import { limits } from '../../../core/limits.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { parseFields } from '../requests/parse-fields.ts';
import { parseMcpTool } from '../requests/mcp-servers.ts';
import { customSchema, functionSchema, namespaceSchema, toolSearchSchema } from './request-schema.ts';
import { parseExactly } from '../../../shared/json/parse-exactly.ts';

/** The caller's tool that an offered function stands for. */
export type OriginalTool = {
  name: string;
  namespace?: string;
  isCustom?: true;
  isSearch?: true;
};

/** The caller's own functions, and the MCP servers that it brings. */
export interface CallerTools {
  functions: CallerFunction[];
  mcpServers: RequestMcpServer[];
  /** By the name of the offered function; those that differ from it only. */
  originals: Map<string, OriginalTool>;
  warnings: CallerWarning[];
}

/**
 * Functions are offered as they are, those of a namespace under a name with both, custom tools as functions with one text, and as a function too the
 * search by which a client shows its tools when they are asked for. All other types are executed by OpenAI, or by the client outside of this protocol:
 * they are left out. @throws GatewayError `invalid_request`
 */
export function parseTools(entries: readonly JsonObject[], path: string): CallerTools {
  const tools: CallerTools = { functions: [], mcpServers: [], originals: new Map(), warnings: [] };
  entries.forEach((entry, index) => addTool(tools, entry, { path: `${path}.${index}` }));
  if (tools.functions.length <= limits.toolsPerRequest) return tools;
  throw invalidField(path, `must have at most ${limits.toolsPerRequest} functions, those in namespaces included`);
}

function addTool(tools: CallerTools, entry: JsonObject, place: { path: string; namespace?: string }): void {
  const { path, namespace } = place;
  if (entry['type'] === 'function') {
    const { name, description, parameters, strict } = parseFields(functionSchema, entry, path);
    const definition = { ...withDescription(description), ...(parameters && { parameters }), ...(strict === true && { strict }) };
    return offer(tools, { name, ...(namespace !== undefined && { namespace }) }, definition);
  }
  if (entry['type'] === 'custom') {
    const { name, description, format } = parseFields(customSchema, entry, path);
    const words = [description ?? '', formatWords(format ?? undefined)].filter((text) => text !== '').join('\n\n');
    const definition = { ...withDescription(words), parameters: customParameters };
    return offer(tools, { name, ...(namespace !== undefined && { namespace }), isCustom: true }, definition);
  }
  if (entry['type'] === 'tool_search' && entry['execution'] === 'client' && namespace === undefined) {
    const { description, parameters } = parseFields(toolSearchSchema, entry, path);
    const definition = { ...withDescription(description), parameters: parameters ?? searchParameters };
    return offer(tools, { name: searchName, isSearch: true }, definition);
  }
  if (entry['type'] === 'mcp' && namespace === undefined) {
    tools.mcpServers.push(parseMcpTool(entry, path));
    return undefined;
  }
  if (entry['type'] === 'namespace' && namespace === undefined) {
    const { name, tools: inner } = parseFields(namespaceSchema, entry, path);
    return inner.forEach((tool, index) => {
      if (isJsonObject(tool)) addTool(tools, tool, { path: `${path}.tools.${index}`, namespace: name });
    });
  }
  return void tools.warnings.push({
    code: 'tool_left_out',
    message: `${path}: tools of type ${JSON.stringify(shortened(entry['type']))} are not known here, so this one is left out.`,
  });
}

/** A custom tool takes free text, which is the one argument of the function that stands for it. */
const customParameters: JsonObject = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The whole input of the tool, as plain text.' } },
  required: ['input'],
  additionalProperties: false,
};

/** The name under which a search for tools is offered; the tool has none. */
export const searchName = 'tool_search';

const searchParameters: JsonObject = {
  type: 'object',
  properties: { query: { type: 'string', description: 'What the tools are needed for.' } },
  required: ['query'],
};

/** Backends cannot hold an argument to a grammar, so the model reads it. */
function formatWords(format: JsonObject | undefined): string {
  if (format?.['type'] !== 'grammar' || typeof format['definition'] !== 'string') return '';
  const syntax = typeof format['syntax'] === 'string' ? format['syntax'] : '';
  return `The input has to match this ${syntax} grammar:\n${format['definition']}`;
}

function withDescription(description: string | null | undefined): { description?: string } {
  return description === undefined || description === null || description === '' ? {} : { description };
}

function offer({ functions, originals }: CallerTools, tool: OriginalTool, definition: JsonObject): void {
  const name = offeredName(tool.name, tool.namespace);
  functions.push({ name, wire: { type: 'function', function: { name, ...definition } } });
  if (name !== tool.name || tool.isCustom === true || tool.isSearch === true) originals.set(name, tool);
}

/** What backends take as the name of a function. */
const longestName = 64;

/** The name under which a function is offered. It depends on nothing else, so that calls in a history keep theirs. */
export function offeredName(name: string, namespace: string | null | undefined): string {
  if (namespace === undefined || namespace === null || namespace === '') return name;
  const both = namespace.endsWith('__') || name.startsWith('__') ? `${namespace}${name}` : `${namespace}__${name}`;
  return both.length <= longestName ? both : name;
}

/** Functions of this process have no server: their items are labelled as below, and their events with the word before. */
const ownServer = 'functions';
const ownLabel = 'function';

export function labelOfServer(server: string): string {
  return server === ownServer || server === '' ? ownLabel : server;
}

function serverOfLabel(label: string): string {
  return label === ownLabel ? ownServer : label;
}

/** The text in the arguments of a call that stands for a custom tool; anything else that a model wrote is taken whole. */
export function customInput(args: string): string {
  try {
    const parsed: unknown = JSON.parse(args);
    if (typeof parsed === 'string') return parsed;
    if (isJsonObject(parsed) && typeof parsed['input'] === 'string') return parsed['input'];
  } catch {
    // No JSON: the model wrote the text itself.
  }
  return args;
}

/** The arguments of a search for tools; anything else that a model wrote is taken as the query. */
export function searchArguments(args: string): JsonObject {
  try {
    const parsed: unknown = parseExactly(args);
    if (isJsonObject(parsed)) return parsed;
  } catch {
    // No JSON: the model wrote the query itself.
  }
  return { query: args };
}

/**
 * `tool_choice` in the format of chat completions, by which the offer is narrowed.
 * @throws GatewayError `invalid_request` where it demands a tool that is left out
 */
export function toToolChoice(choice: JsonValue | undefined): JsonValue | undefined {
  if (!isJsonObject(choice)) return choice ?? undefined;
  const { type } = choice;
  if (type === 'function' || type === 'custom') return namedChoice(choice);
  if (type === 'mcp') return serverChoice(choice);
  if (type !== 'allowed_tools') throw refusal(type);
  const tools = Array.isArray(choice['tools']) ? choice['tools'].filter((entry) => isJsonObject(entry)) : [];
  const known = tools.filter((entry) => entry['type'] === 'function' || entry['type'] === 'custom' || entry['type'] === 'mcp');
  if (known.length === 0 && tools[0] !== undefined) throw refusal(tools[0]['type']);
  return {
    type,
    allowed_tools: {
      mode: choice['mode'] ?? 'auto',
      tools: known.map((entry) => (entry['type'] === 'mcp' ? serverChoice(entry) : namedChoice(entry))),
    },
  };
}

function namedChoice(choice: JsonObject): JsonObject {
  const { name, namespace } = choice;
  if (typeof name !== 'string') throw invalidField('tool_choice.name', 'must name the tool');
  return { type: 'function', function: { name: offeredName(name, typeof namespace === 'string' ? namespace : undefined) } };
}

/** By the label that our items have. */
function serverChoice(choice: JsonObject): JsonObject {
  const { server_label: label } = choice;
  if (typeof label !== 'string') throw invalidField('tool_choice.server_label', 'must name the server');
  return { ...choice, server_label: serverOfLabel(label) };
}

function refusal(type: JsonValue | undefined): GatewayError {
  return invalidField(
    'tool_choice',
    `demands a tool of type ${JSON.stringify(shortened(type))}, which is not known here. Name a function, a custom tool or an MCP server.`,
  );
}

function shortened(type: JsonValue | undefined): string {
  return typeof type === 'string' ? type.slice(0, 100) : '';
}
