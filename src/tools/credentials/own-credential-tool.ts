import type { Caller } from '../../core/caller.ts';
import type { ToolServerRecord } from '../../core/registry.ts';
import type { Tool, ToolOutcome } from '../../core/tool.ts';
import { howToConnect } from './own-credentials.ts';
import type { OwnRecord } from './own-credentials.ts';

/**
 * A function of a server that each person uses with a credential of their own. It is looked up for every call, by the caller of its run: whoever the
 * function was offered to, nobody calls it with another's. `toolFor`: the function over the connection as this caller uses it.
 */
export function withOwnCredential(
  tool: Tool,
  record: ToolServerRecord,
  { ownRecord, toolFor }: { ownRecord: OwnRecord; toolFor: (own: ToolServerRecord, caller: Caller) => Tool | Promise<Tool> },
): Tool {
  if (record.isPerUser !== true) return tool;
  return {
    ...tool,
    whyNotReady: async ({ caller }) => ((await ownRecord(record, caller)) === undefined ? credentialRequired(record) : undefined),
    async run(invocation, context) {
      const { caller } = invocation.run;
      const own = await ownRecord(record, caller);
      if (own === undefined) return credentialRequired(record);
      return (await toolFor(own, caller)).run(invocation, context);
    },
  };
}

function credentialRequired(record: ToolServerRecord): Extract<ToolOutcome, { type: 'error' }> {
  const { id, name = id } = record;
  const message = howToConnect(record);
  return { type: 'error', code: 'credential_required', message, state: 'not_started', connect: { server: id, name } };
}
