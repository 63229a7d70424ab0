import { GatewayError } from '../../core/errors.ts';
import type { ToolServerRecord } from '../../core/stores/registry.ts';
import type { Tool, ToolContext, ToolInvocation, ToolOutcome } from '../../core/tools/tool.ts';
import { asksForCredential, howToConnect, howToExtend, howToReplace, scopesCure } from './own-credentials.ts';
import type { OwnRecord, OwnToolServer, OwnUse, WantScopes } from '../definitions/own-use.ts';

type Failed = Extract<ToolOutcome, { type: 'error' }>;

/**
 * A function of a server that each person uses with a credential of their own. It is looked up for every call, by the caller of
 * its run, so that no caller uses the credential of another. A token that the server rejects is refreshed once; a key that it rejects counts as missing.
 */
export function withOwnCredential(
  tool: Tool,
  record: ToolServerRecord,
  { ownRecord, wantScopes, toolFor }: { ownRecord: OwnRecord; wantScopes: WantScopes; toolFor: (use: OwnUse) => Tool | Promise<Tool> },
): Tool {
  if (!asksForCredential(record)) return tool;

  async function run(invocation: ToolInvocation, context: ToolContext | undefined): Promise<ToolOutcome> {
    const { caller } = invocation.run;
    let refusedScopes: readonly string[] | undefined;
    const callWith = async (own: OwnToolServer): Promise<ToolOutcome> => {
      refusedScopes = undefined;
      let wantedScopes: readonly string[] | undefined;
      const tool = await toolFor({
        own,
        callerId: caller.id,
        renew: (refusal) => ownRecord(record, caller, refusal),
        onRefused: (scopes) => (refusedScopes = scopes),
        onScopesWanted: (scopes) => (wantedScopes = scopes),
      });
      const outcome = await tool.run(invocation, context);
      if (outcome.type !== 'error' || wantedScopes === undefined) return outcome;
      if (await wantScopes(record, caller, wantedScopes)) return credentialRequired(record, howToExtend(record, wantedScopes));
      return { ...outcome, message: `${outcome.message} ${scopesCure(record, wantedScopes)}` };
    };
    const own = await ownRecord(record, caller);
    if (own === undefined) return credentialRequired(record);
    const outcome = await callWith(own);
    if (outcome.type !== 'error' || outcome.connect !== undefined) return outcome;
    if (refusedScopes === undefined) {
      // Sessions refresh, and report what the server rejects, by themselves.
      const isGone = outcome.state === 'not_started' && (await ownRecord(record, caller)) === undefined;
      return isGone ? credentialRequired(record, howToReplace(record)) : outcome;
    }
    const renewed = await ownRecord(record, caller, { key: own.key ?? '', scopes: refusedScopes });
    if (renewed === undefined) return credentialRequired(record, howToReplace(record));
    const second = await callWith(renewed);
    if (refusedScopes === undefined) return second;
    await ownRecord(record, caller, { key: renewed.key ?? '', isFinal: true, scopes: refusedScopes });
    return credentialRequired(record, howToReplace(record));
  }

  return {
    ...tool,
    async whyNotReady({ caller }) {
      try {
        return (await ownRecord(record, caller)) === undefined ? credentialRequired(record) : undefined;
      } catch (error) {
        return failedToAsk(error);
      }
    },
    run: (invocation, context) =>
      run(invocation, context).catch((error: unknown) => {
        invocation.signal.throwIfAborted();
        return failedToAsk(error);
      }),
  };
}

/** An authorization server that cannot be asked now: the call was not made. */
function failedToAsk(error: unknown): Failed {
  if (!(error instanceof GatewayError)) throw error;
  return { type: 'error', code: 'tool_error', message: `The call was not made: ${error.message}`, state: 'not_started' };
}

function credentialRequired(record: ToolServerRecord, message = howToConnect(record)): Failed {
  const { id, name = id } = record;
  return { type: 'error', code: 'credential_required', message, state: 'not_started', connect: { server: id, name } };
}
