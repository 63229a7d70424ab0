import type { McpServers, McpServersOptions } from './mcp-servers.ts';

/** The same, loaded with the first MCP server: the protocol's packages take a fifth of the start and 30 MB, and most gateways have none. */
export function loadMcpServers(options: McpServersOptions): McpServers {
  let loading: Promise<McpServers> | undefined;
  let loaded: McpServers | undefined;

  async function load(): Promise<McpServers> {
    const { createMcpServers } = await import('./mcp-servers.ts');
    loaded = createMcpServers(options);
    return loaded;
  }
  function servers(): Promise<McpServers> {
    loading ??= load();
    return loading;
  }

  return {
    open: async (record, asked) => (await servers()).open(record, asked),
    verify: async (record, asked) => (await servers()).verify(record, asked),
    accept: async (record, functions) => (await servers()).accept(record, functions),
    keepOnly: (records) => loaded?.keepOnly(records),
    close: async () => (await loading)?.close(),
  };
}
