import type { NoteStores } from '../../core/stores/note-store.ts';
import type { ChatStore } from '../../core/stores/chat-store.ts';
import type { CredentialStore } from '../../core/callers/credentials.ts';
import type { OAuthClientStore } from '../../core/callers/oauth-clients.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import type { Registry } from '../../core/stores/registry.ts';
import type { ResponseStore } from '../../core/stores/response-store.ts';
import type { RunStore } from '../../core/runs/run-log.ts';
import type { SignInStore } from '../../core/stores/sign-in-store.ts';
import type { UsageStore } from '../../core/stores/usage-store.ts';
import type { WaitingRunStore } from '../../core/runs/suspended-run.ts';
import { createLayeredRegistry } from '../../storage/layered-registry.ts';
import { openStores } from '../../storage/open-stores.ts';
import { withOwners } from '../../storage/owned-stores.ts';
import type { OwnedStores, Owners } from '../../storage/owned-stores.ts';
import { createPresetStore } from '../../storage/preset-store.ts';
import type { PresetStore } from '../../storage/preset-store.ts';
import { withRevocation } from '../../tools/credentials/oauth/revoke-tokens.ts';
import type { AppContext } from '../app-context.ts';

/** Stores to use instead of stores in memory. */
export interface OpenedStores {
  registry?: Registry;
  runs?: RunStore;
  waitingRuns?: WaitingRunStore;
  noteStores?: Partial<NoteStores>;
  chats?: ChatStore;
  responses?: ResponseStore;
  credentials?: CredentialStore;
  oauthClients?: OAuthClientStore;
  signIns?: SignInStore;
  usage?: UsageStore;
  /** Of the database that the stores are in. @throws GatewayError `storage_unavailable` */
  requireWritable?: () => Promise<void>;
}

export interface Storage extends OwnedStores {
  registry: Registry;
  presets: PresetStore;
  oauthClients: OAuthClientStore;
  owners: Owners;
  /** @throws GatewayError `storage_unavailable` while nothing can be written */
  requireWritable: () => Promise<void>;
  close(): Promise<void>;
}

/** How old the list of presets may be before it is read again. */
const presetCacheMs = 200;

/** Stores that were not opened are replaced by stores in memory. `send`: for tokens that are revoked when they are deleted. */
export function composeStorage({ config, now, newId }: AppContext, { send, ...opened }: OpenedStores & { send: SendOutbound }): Storage {
  const { connection, ...inProcess } = openStores({ file: ':memory:', secret: newId(), now });
  const { signIns = inProcess.signIns } = opened;
  const credentials = withRevocation(opened.credentials ?? inProcess.credentials, send);
  const plainRegistry = opened.registry ?? createLayeredRegistry({ fixed: config.toolServers, store: inProcess.registry });
  const registry = forgetWithServers(plainRegistry, [credentials, signIns]);
  const { runs = inProcess.runs, waitingRuns = inProcess.waitingRuns, chats = inProcess.chats, responses = inProcess.responses } = opened;
  const noteStores = { ...inProcess.noteStores, ...opened.noteStores };
  const fallbackNotes = inProcess.noteStores.continuation;
  const { usage = inProcess.usage } = opened;
  return {
    ...withOwners({ runs, waitingRuns, noteStores, fallbackNotes, chats, responses, credentials, signIns, usage }),
    registry,
    presets: createPresetStore({ registry, fixed: config.presets, now, cacheMs: presetCacheMs }),
    oauthClients: opened.oauthClients ?? inProcess.oauthClients,
    requireWritable: opened.requireWritable ?? connection.requireWritable,
    close: () => connection.close(),
  };
}

/** Wraps the registry: a tool server that is deleted takes everybody's credentials and sign-ins for it along. */
function forgetWithServers(
  registry: Registry,
  stores: readonly { deleteOfServers(servers: readonly string[]): Promise<unknown> }[],
): Registry {
  const deleteOfServers = (servers: readonly string[]): Promise<unknown> =>
    Promise.all(stores.map((store) => store.deleteOfServers(servers)));
  return {
    ...registry,
    async deleteToolServer(id) {
      await registry.deleteToolServer(id);
      await deleteOfServers([id]);
    },
    async replaceToolServers(records) {
      const before = await registry.listToolServers('all');
      await registry.replaceToolServers(records);
      const left = new Set((await registry.listToolServers('all')).map(({ id }) => id));
      await deleteOfServers(before.flatMap(({ id }) => (left.has(id) ? [] : [id])));
    },
  };
}
