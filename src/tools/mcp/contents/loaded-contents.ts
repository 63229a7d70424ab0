import type { ServerContents } from '../../../core/tools/server-contents.ts';
import type { McpContentsOptions } from './mcp-contents.ts';

/** The contents of MCP servers, with the SDK loaded by the first request: most gateways serve no MCP client. */
export function loadedContents(options: McpContentsOptions): ServerContents {
  let loading: Promise<ServerContents> | undefined;
  const contents = (): Promise<ServerContents> => {
    loading ??= import('./mcp-contents.ts').then(({ createMcpContents }) => createMcpContents(options));
    return loading;
  };
  return {
    list: async (kind, page, asker) => (await contents()).list(kind, page, asker),
    read: async (uri, asker) => (await contents()).read(uri, asker),
    readView: async (view, asker) => (await contents()).readView(view, asker),
    watch: async (uri, asker, watcher) => (await contents()).watch(uri, asker, watcher),
    prompt: async (name, args, asker) => (await contents()).prompt(name, args, asker),
    complete: async (wanted, asker) => (await contents()).complete(wanted, asker),
  };
}
