import { z } from 'zod';
import type { McpToolFilter, RequestMcpServer } from '../../../core/chat/chat.ts';
import { invalidField } from '../../../core/errors.ts';
import { limits } from '../../../core/limits.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import { withoutUndefined } from '../../../shared/json/without-undefined.ts';
import { parseFields } from './parse-fields.ts';

const toolNames = z.array(z.string().max(limits.mcpNameCharacters)).max(limits.mcpTools);
/** Strict, because a typo in a protective setting must not disable it. */
const filterSchema = z.strictObject({ tool_names: toolNames.nullish(), read_only: z.boolean().nullish() });
const approvalSchema = z.union(
  [z.enum(['always', 'never']), z.strictObject({ always: filterSchema.nullish(), never: filterSchema.nullish() })],
  'must be "always", "never", or an object with always and never, which have tool_names or read_only',
);
const entrySchema = z.looseObject({
  server_label: z.string(),
  server_url: z.string().max(2_048).nullish(),
  connector_id: z.string().nullish(),
  tunnel_id: z.string().nullish(),
  headers: z.record(z.string(), z.string()).nullish(),
  authorization: z.string().nullish(),
  allowed_tools: z.union([toolNames, filterSchema], 'must be a list of names, or an object with tool_names or read_only').nullish(),
  require_approval: approvalSchema.nullish(),
});

/** The ids of connections to services for which OpenAI has the credentials. */
const ofOpenAi = ['connector_id', 'tunnel_id'] as const;

/**
 * Reads an entry of `tools` with the type `mcp`, which OpenAI's Responses API has. `param`: its place, as `tools.0`.
 * @throws GatewayError `invalid_request`
 */
export function parseMcpTool(entry: JsonObject, param: string): RequestMcpServer {
  const parsed = parseFields(entrySchema, entry, param);
  const { server_label: label, server_url: url, headers, authorization, allowed_tools: allowed, require_approval: wanted } = parsed;
  for (const field of ofOpenAi) {
    if (parsed[field]) throw invalidField(`${param}.${field}`, 'only OpenAI can reach this; send the server_url of an MCP server');
  }
  if (!url) throw invalidField(`${param}.server_url`, 'is missing; it must be the address of an MCP server');
  requireMcpUrl(url, `${param}.server_url`);
  return {
    label,
    url,
    headers: headers ?? {},
    ...(authorization ? { authorization } : {}),
    ...withoutUndefined({ allowed: Array.isArray(allowed) ? { names: allowed } : toFilter(allowed) }),
    approval: toApproval(wanted ?? 'always'),
    param,
  };
}

function toApproval(wanted: z.infer<typeof approvalSchema>): RequestMcpServer['approval'] {
  if (wanted === 'always') return {};
  if (wanted === 'never') return { never: {} };
  return withoutUndefined({ always: toFilter(wanted.always), never: toFilter(wanted.never) });
}

/** Undefined for a filter without conditions: it says nothing, so it must not lift every approval. */
function toFilter(filter: z.infer<typeof filterSchema> | null | undefined): McpToolFilter | undefined {
  const conditions = withoutUndefined({ names: filter?.tool_names ?? undefined, isReadOnly: filter?.read_only ?? undefined });
  return Object.keys(conditions).length === 0 ? undefined : conditions;
}

/** Whether `param` holds an address that the gateway may try; the egress rules decide later. @throws GatewayError `invalid_request` */
export function requireMcpUrl(text: string, param: string): void {
  const url = URL.parse(text);
  const isUsable = url !== null && ['http:', 'https:'].includes(url.protocol) && url.username === '' && url.password === '';
  if (!isUsable) throw invalidField(param, 'must be an http:// or https:// address without user name and password');
}

/** Labels are written before a slash in the names of functions, and before a colon in messages. */
const legalLabel = /^[\p{L}\p{N}_][\p{L}\p{N}_. -]{0,63}$/u;
/** The `server` of functions of this process. */
const ownLabel = 'function';

/**
 * The part `mcpServers` of a request. Whether a label is a registered server's id is found out later.
 * @throws GatewayError `invalid_request` for two of one label, illegal labels, and more than `limits.mcpServersPerRequest`
 */
export function toMcpPart(servers: readonly RequestMcpServer[]): { mcpServers?: RequestMcpServer[] } {
  if (servers.length === 0) return {};
  const seen = new Set<string>();
  for (const { label, param } of servers) {
    if (!legalLabel.test(label))
      throw invalidField(param, 'the label of an MCP server has 1 to 64 letters, digits, and "_", "-", "." or spaces');
    if (label === ownLabel)
      throw invalidField(param, `no MCP server can have the label "${ownLabel}", which means functions of the gateway`);
    if (seen.has(label)) throw invalidField(param, `another MCP server of this request has the label "${label}"; give each its own`);
    seen.add(label);
  }
  const { mcpServersPerRequest: max } = limits;
  if (servers.length > max)
    throw invalidField(servers[max]?.param ?? '', `one request may bring ${max} MCP servers, and this one brings ${servers.length}`);
  return { mcpServers: [...servers] };
}
