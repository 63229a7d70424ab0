import { onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import type { SendOutbound } from '../../../src/core/outbound.ts';
import type { Registry, ToolServerRecord } from '../../../src/core/stores/registry.ts';
import type { RunContext } from '../../../src/core/runs/run.ts';
import type { Tool, ToolContext, ToolOffer, ToolOutcome } from '../../../src/core/tools/tool.ts';
import { connectedTools } from '../../_support/connected-tools.ts';
import type { CreateTransports } from '../../../src/tools/mcp/transports/create-transports.ts';
import type { Tools } from '../../../src/app/compose/compose-tools.ts';
import { chatRequest, runContext } from '../../_support/tools.ts';
import { waitFor } from '../../_support/wait-for.ts';
import { toolServerRecord } from '../../storage/registry-contract.ts';
import { scriptedSend } from '../scripted-send.ts';

export function mcpRecord(rest: Partial<ToolServerRecord> = {}): ToolServerRecord {
  return toolServerRecord({ id: 'peer', url: 'http://peer.test/mcp', type: 'mcp', ...rest });
}

export interface ToolParts {
  records?: ToolServerRecord[];
  registry?: Registry;
  send?: SendOutbound;
  transports?: CreateTransports;
}

export function mcpTools({ records = [mcpRecord()], registry, send = scriptedSend().send, transports }: ToolParts): Tools {
  const tools = connectedTools({ records, ...(registry && { registry }), send, createTransports: transports });
  onTestFinished(() => tools.close());
  return tools;
}

export async function offerOf({ catalog }: Tools, toolIds?: string[]): Promise<ToolOffer> {
  return catalog.offerFor(chatRequest(toolIds === undefined ? {} : { toolIds }), runContext());
}

/** A chat goes on without a server that takes two seconds, as it may on a busy machine, and later finds it connected. */
export function requireTool(mcp: Tools, name: string, toolIds?: string[]): Promise<Tool> {
  return waitFor(async () => {
    const { tools } = await offerOf(mcp, toolIds);
    const tool = tools.get(name);
    if (tool === undefined) throw new Error(`${name} is not offered, only ${[...tools.keys()].join(', ')}`);
    return tool;
  });
}

export interface CallParts {
  args?: JsonObject;
  run?: Partial<RunContext>;
  context?: Partial<ToolContext>;
  signal?: AbortSignal;
}

export function callTool(
  tool: Tool,
  { args = {}, run = {}, context = {}, signal = new AbortController().signal }: CallParts = {},
): Promise<ToolOutcome> {
  const silent: ToolContext = {
    status: async () => undefined,
    progress: async () => undefined,
    keepAlive: () => undefined,
    say: async () => undefined,
    emit: async () => undefined,
    critical: async (work) => work(),
    ask: async () => undefined,
    askToOpen: async () => false,
    confirm: async () => false,
    toolIds: () => [],
    updateTools: async () => undefined,
    updateInstructions: async () => undefined,
    stop: () => undefined,
    waitFor: () => undefined,
    ...context,
  };
  return tool.run({ callId: 'call-1', args, run: runContext(run), signal, timeoutMs: 30_000 }, silent);
}
