import { pathToFileURL } from 'node:url';
import type { ToolServerRecord } from '../../src/core/stores/registry.ts';
import { parseToolServerConnections } from '../../src/storage/tool-server-connection.ts';
import { backendOf, testApp } from '../_support/build-app.ts';
import type { TestApp } from '../_support/build-app.ts';
import { httpPeer, toolOf } from '../tools/mcp/scripted-peer.ts';
import { generatedBy } from '../_support/scripted-model.ts';

/** What a chat costs in this process, with a model that takes no time, and how much of it is for tools that it does not use. */
export interface McpToolCost {
  tools: number;
  /** Medians of one chat. */
  withoutMs: number;
  withMs: number;
  addedMs: number;
}

const toolCount = 50;
const chats = 400;
const warmUp = 100;

/** Fifty tools of a usual size, which every chat is offered and none calls. Neighbours alternate, so that both meet the same machine. */
export async function measureMcpTools(): Promise<McpToolCost> {
  const peer = httpPeer(Array.from({ length: toolCount }, (_value, index) => usualTool(index)));
  const connection = { id: 'peer', type: 'mcp', url: 'http://peer.test/mcp' };
  const without = await gateway([], peer.send);
  const withTools = await gateway(parseToolServerConnections([connection], 'file'), peer.send);
  try {
    const offered = await withTools.server.inject({ method: 'GET', url: '/api/tools' });
    if (offered.json<{ data: unknown[] }>().data.length !== toolCount) throw new Error('the tools are not on offer');
    const times = { without: [] as number[], with: [] as number[] };
    for (let count = 0; count < warmUp + chats; count += 1) {
      const one = await chatMs(without);
      const other = await chatMs(withTools);
      if (count < warmUp) continue;
      times.without.push(one);
      times.with.push(other);
    }
    const [withoutMs, withMs] = [middleOf(times.without), middleOf(times.with)];
    return { tools: toolCount, withoutMs, withMs, addedMs: withMs - withoutMs };
  } finally {
    await Promise.all([without.close(), withTools.close()]);
  }
}

function usualTool(index: number): ReturnType<typeof toolOf> {
  const text = { type: 'string', description: 'What to look for, in the words of the user' };
  const inputSchema = {
    type: 'object' as const,
    properties: { query: text, folder: text, limit: { type: 'integer' } },
    required: ['query'],
  };
  return toolOf(`search_${index}`, {
    description: `Searches the ${index}th collection of documents and gives those that fit best.`,
    inputSchema,
  });
}

function gateway(toolServers: ToolServerRecord[], send: ReturnType<typeof httpPeer>['send']): Promise<TestApp> {
  const backend = backendOf(
    generatedBy(async function* () {
      yield { type: 'text', text: 'Hello' };
      yield { type: 'finish', reason: 'stop' };
    }),
  );
  return testApp({ TOOLWHARF_DEMO: 'false', LOG_LEVEL: 'info' }, { send, backends: [backend], config: { toolServers } });
}

async function chatMs(app: TestApp): Promise<number> {
  const payload = { model: 'model', messages: [{ role: 'user', content: 'Say hello' }] };
  const began = performance.now();
  const answer = await app.server.inject({ method: 'POST', url: '/v1/chat/completions', payload });
  const took = performance.now() - began;
  if (answer.statusCode !== 200) throw new Error(`the chat was answered ${answer.statusCode}: ${answer.body}`);
  app.logLines.length = 0;
  return took;
}

function middleOf(values: number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const cost = await measureMcpTools();
  const figures = [cost.withoutMs, cost.withMs, cost.addedMs].map((value) => value.toFixed(3));
  process.stdout.write(
    `${cost.tools} MCP tools: a chat takes ${figures[0]} ms without, ${figures[1]} ms with them; added ${figures[2]} ms\n`,
  );
}
