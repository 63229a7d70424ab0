import { z } from 'zod';
import type { ChatRequest, McpToolFilter, RequestMcpServer } from '../../../core/chat/chat.ts';
import { invalidField } from '../../../core/errors.ts';
import { limits } from '../../../core/limits.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import { parseFields } from '../requests/parse-fields.ts';
import { requireMcpUrl, toMcpPart } from '../requests/mcp-servers.ts';
import type { CountedBody } from './messages-body-schema.ts';

const toolConfig = z.looseObject({ enabled: z.boolean().nullish() });
const toolset = z.looseObject({
  mcp_server_name: z.string().max(256),
  default_config: toolConfig.nullish(),
  configs: z
    .record(z.string().max(limits.mcpNameCharacters), toolConfig)
    .refine((configs) => Object.keys(configs).length <= limits.mcpTools, `must have at most ${limits.mcpTools} fields`)
    .nullish(),
});
type Toolset = z.infer<typeof toolset>;

/** The type of the entries of `tools` that narrow the tools of a server. */
export const toolsetType = 'mcp_toolset';

/**
 * The MCP servers of Anthropic's beta. What narrows them stands with the server in its first version, and in `tools` in later ones. No call waits for
 * an approval, because the protocol has none. @throws GatewayError `invalid_request`
 */
export function readMcpServers({
  mcp_servers: servers,
  tools,
}: Pick<CountedBody, 'mcp_servers' | 'tools'>): Pick<ChatRequest, 'mcpServers'> {
  const toolsets = readToolsets(tools ?? []);
  const read = (servers ?? []).flatMap((server, index): RequestMcpServer[] => {
    const { name, url, authorization_token: authorization, tool_configuration: configuration } = server;
    const narrowed = toolsets.get(name);
    toolsets.delete(name);
    requireMcpUrl(url, `mcp_servers.${index}.url`);
    if (configuration?.enabled === false) return [];
    return [
      {
        label: name,
        url,
        headers: {},
        ...(authorization && { authorization }),
        allowed: allowedBy(configuration?.allowed_tools ?? undefined, narrowed?.set),
        approval: { never: {} },
        param: `mcp_servers.${index}`,
      },
    ];
  });
  for (const [name, { param }] of toolsets)
    throw invalidField(`${param}.mcp_server_name`, `mcp_servers has no server "${name.slice(0, 100)}"`);
  return toMcpPart(read);
}

function readToolsets(tools: readonly JsonObject[]): Map<string, { set: Toolset; param: string }> {
  const found = new Map<string, { set: Toolset; param: string }>();
  for (const [index, tool] of tools.entries()) {
    if (tool['type'] !== toolsetType) continue;
    const param = `tools.${index}`;
    const set = parseFields(toolset, tool, param);
    if (found.has(set.mcp_server_name))
      throw invalidField(`${param}.mcp_server_name`, 'another toolset has the same server; put both into one');
    found.set(set.mcp_server_name, { set, param });
  }
  return found;
}

/** `names`: those of the server itself. */
function allowedBy(names: readonly string[] | undefined, set: Toolset | undefined): McpToolFilter {
  const configs = Object.entries(set?.configs ?? {});
  const isOnByDefault = set?.default_config?.enabled !== false;
  const exceptNames = configs.flatMap(([name, { enabled }]) => (enabled === false ? [name] : []));
  const enabledNames = configs.flatMap(([name, { enabled }]) => (enabled === true ? [name] : []));
  const wanted = isOnByDefault ? names : enabledNames.filter((name) => names?.includes(name) !== false);
  return { ...(wanted !== undefined && { names: [...wanted] }), ...(exceptNames.length > 0 && { exceptNames }) };
}
