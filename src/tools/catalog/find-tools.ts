import type { Tool, ToolOutcome } from '../../core/tools/tool.ts';
import { cutAhead } from './cut/cut-spec.ts';
import type { FunctionSearch } from './search-functions.ts';
import { trustSchema } from '../../validation/trusted-schemas.ts';

interface DeferredTools {
  /** In the order in which the search indexes them. */
  tools: readonly Tool[];
  search: FunctionSearch;
}

/** Matches per search: enough to choose from, few enough to read. */
const maxMatches = 8;
/** Servers that the description names; the others are only counted. */
const maxNamedServers = 20;
const shownDescription = 300;

/** A function by which a model searches deferred tools; those found are offered from the next model request on. `name` must be free. */
export function createFindTools(name: string, { tools, search }: DeferredTools): Tool {
  const run = async (query: string): Promise<ToolOutcome> => {
    const found = (await search(query, maxMatches)).flatMap((position) => tools[position] ?? []);
    if (found.length === 0) {
      return { type: 'error', code: 'tool_error', message: 'No function matches these words. Try others, in English, or fewer.' };
    }
    await cutAhead(found);
    const functions = found.map((tool) => ({
      name: tool.spec.name,
      server: tool.server,
      description: tool.spec.description.slice(0, shownDescription),
    }));
    return {
      type: 'result',
      value: { functions },
      note: 'These functions can be called now.',
      offers: functions.map((entry) => entry.name),
    };
  };
  return {
    spec: {
      name,
      description:
        `Searches ${tools.length} further functions and makes those that match callable. Use it when no other function fits. ` +
        `They belong to: ${serversOf(tools)}.`,
      parameters: trustSchema({
        type: 'object',
        properties: {
          query: { type: 'string', description: 'English keywords for what the function does, such as "create issue comment"' },
        },
        required: ['query'],
      }),
    },
    label: name,
    server: 'toolwharf',
    kind: 'function',
    isReadOnly: true,
    isHelper: true,
    run: ({ args }) => run(typeof args['query'] === 'string' ? args['query'] : ''),
  };
}

function serversOf(tools: readonly Tool[]): string {
  const counts = new Map<string, number>();
  for (const { server } of tools) counts.set(server, (counts.get(server) ?? 0) + 1);
  const named = [...counts].slice(0, maxNamedServers).map(([server, count]) => `${server} (${count})`);
  const rest = counts.size - named.length;
  return rest > 0 ? `${named.join(', ')} and ${rest} other servers` : named.join(', ');
}
