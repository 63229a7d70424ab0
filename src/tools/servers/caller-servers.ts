import { GatewayError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import type { RunContext } from '../../core/runs/run.ts';
import type { ToolServerRecord } from '../../core/stores/registry.ts';
import type { Tool } from '../../core/tools/tool.ts';
import { whenThere, type MaybePromise } from '../../shared/async/maybe-promise.ts';
import { waitAtMost, waitUnlessAborted } from '../../shared/async/wait-for.ts';
import { withOwnCredential } from '../credentials/own-credential-tool.ts';
import { asksForCredential, refusesCredential, type CredentialUse } from '../credentials/own-credentials.ts';
import { isRejected, type OpenedServer, type Opening } from '../definitions/opened-server.ts';
import type { Operation } from '../definitions/operation.ts';
import type { OwnRecord, OwnToolServer, OwnUse } from '../definitions/own-use.ts';
import type { McpServers } from '../mcp/mcp-servers.ts';
import type { McpSession } from '../mcp/sessions/mcp-session.ts';
import type { OwnDocuments } from './own-documents.ts';
import type { RegisteredServers } from './registered-servers.ts';

type Asker = Pick<RunContext, 'caller' | 'signal'>;

/** Registered servers as each caller uses them: with the caller's own credential, where a server asks for one. */
export interface CallerServers {
  /** Like `RegisteredServers.open`. A server that lists its functions only to people with a credential is opened with the caller's. */
  open: (record: ToolServerRecord, asker: Asker, isNeeded?: boolean) => MaybePromise<Opening>;
  /** Of the servers that all callers share; see `RegisteredServers.revision`. */
  revision: () => number;
  /** A function of an opened server. Each call uses the credential of the caller of its run. */
  createTool: (record: ToolServerRecord, server: OpenedServer, named: { operation: Operation; offeredName: string }) => Tool;
  /** The session for other requests of this caller to an MCP server; undefined if it cannot be opened. `own`: the record as the caller uses it. */
  findSession: (own: OwnToolServer, asker: Asker) => Promise<McpSession | undefined>;
}

interface CallerServersOptions {
  registered: Pick<RegisteredServers, 'open' | 'revision'>;
  mcp: Pick<McpServers, 'find' | 'openOwn' | 'ownSession'>;
  documents: Pick<OwnDocuments, 'open'>;
  credentials: CredentialUse;
}

export function createCallerServers({ registered, mcp, documents, credentials }: CallerServersOptions): CallerServers {
  const ownRecord: OwnRecord = (record, caller, refusal) => credentials.ownRecord(record, caller, refusal);

  const useOf = (record: ToolServerRecord, own: OwnToolServer, callerId: string): OwnUse => ({
    own,
    callerId,
    renew: (refusal) => ownRecord(record, { id: callerId }, refusal),
  });

  /** `forEverybody`: the outcome without a credential. */
  async function openOwn(record: ToolServerRecord, { caller, signal }: Asker, forEverybody: Opening): Promise<Opening> {
    let own;
    try {
      own = await ownRecord(record, caller);
    } catch (error) {
      if (error instanceof GatewayError) return { type: 'unreachable', reason: error.message, cause: 'failed' };
      throw error;
    }
    const refused: Opening = { type: 'unsupported', reason: refusesCredential(record), needsCredential: true };
    if (own === undefined) return (await credentials.isRefused(record, caller)) ? refused : forEverybody;
    const use = useOf(record, own, caller.id);
    const opens = waitUnlessAborted(record.type === 'mcp' ? mcp.openOwn(use) : documents.open(use), signal);
    const opening = await waitAtMost(limits.requestMcpOpenMs, opens, tookTooLong);
    if (!isRejected(opening)) return opening;
    const { wantedScopes = [] } = opening.type === 'unreachable' ? opening : {};
    if (wantedScopes.length > 0 && (await credentials.wantScopes(record, caller, wantedScopes))) return refused;
    if (own.signInId === undefined) {
      const isUnauthorized = opening.type === 'unreachable' && opening.cause === 'unauthorized';
      if (isUnauthorized) await ownRecord(record, caller, { key: own.key ?? '' });
      return refused;
    }
    // A token that could not be refreshed now is valid again once its authorization server is.
    const isStillThere = (await ownRecord(record, caller).catch(() => own)) !== undefined;
    return isStillThere ? opening : refused;
  }

  return {
    open: (record, asker, isNeeded) =>
      whenThere(registered.open(record, asker.signal, isNeeded), (opening) =>
        isForPeople(record, opening) ? openOwn(record, asker, opening) : opening,
      ),
    revision: () => registered.revision(),
    createTool: (record, server, { operation, offeredName }) =>
      withOwnCredential(server.createTool(operation, offeredName), record, {
        ownRecord,
        wantScopes: (...demand) => credentials.wantScopes(...demand),
        toolFor: (use) => server.createOwnTool(operation, offeredName, use),
      }),
    async findSession(own, { caller, signal }) {
      if (asksForCredential(own)) return mcp.ownSession(useOf(own, own, caller.id));
      const opening = await registered.open(own, signal, true);
      return opening.type === 'opened' ? mcp.find(own) : undefined;
    },
  };
}

/** An API lists its functions in a document, which may fail for reasons that no credential changes. */
function isForPeople(record: ToolServerRecord, opening: Opening): boolean {
  if (opening.type === 'opened' || !asksForCredential(record)) return false;
  return record.type === 'mcp' || (opening.type === 'unsupported' && opening.needsCredential === true);
}

function tookTooLong(): Opening {
  return {
    type: 'unreachable',
    reason: `it did not list its functions within ${limits.requestMcpOpenMs / 1_000} seconds`,
    cause: 'failed',
  };
}
