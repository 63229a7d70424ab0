import type { OAuthClientStore } from '../../core/sign-in/oauth-clients.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import type { ThoughtSeals } from '../../core/chat/thought.ts';
import type { Registry } from '../../core/stores/registry.ts';
import type { OfferChanges } from '../../core/tools/offer-changes.ts';
import { createMemoryStores, type Stores } from '../../storage/open-stores.ts';
import { withOwners, type OwnedStores, type Owners } from '../../storage/owned-stores.ts';
import { createBackendEntries, type BackendEntries } from '../../storage/backend-entries.ts';
import { createPresetStore, type PresetStore } from '../../storage/preset-store.ts';
import { withRevocation } from '../../tools/credentials/oauth/revoke-tokens.ts';
import type { AppContext } from '../app-context.ts';

export interface Storage extends OwnedStores {
  registry: Registry;
  presets: PresetStore;
  backends: BackendEntries;
  oauthClients: OAuthClientStore;
  thoughtSeals: ThoughtSeals;
  owners: Owners;
  /** @throws GatewayError `storage_unavailable` while nothing can be written */
  requireWritable: () => Promise<void>;
  close(): Promise<void>;
}

interface StorageParts {
  stores: Stores;
  /** Revokes tokens when they are deleted. */
  send: SendOutbound;
  changes: Pick<OfferChanges, 'publish'>;
}

/** The stores stay open when the gateway closes. */
export function composeStorage({ config, now, newId }: AppContext, { stores, send, changes }: StorageParts): Storage {
  const { database, oauthClients, thoughtSeals, ...opened } = stores;
  const onChanged = (): void => changes.publish({ lists: ['tools'] });
  const inMemory = createMemoryStores({ secret: newId(), now });
  const credentials = withRevocation(stores.credentials, send);
  const registry = announceChanges(forgetWithServers(stores.registry, [credentials, stores.signIns]), changes.publish);
  return {
    ...withOwners({ ...opened, credentials, fallbackNotes: inMemory.noteStores.continuation }),
    registry,
    backends: createBackendEntries({ registry, fixed: config.backends }),
    presets: createPresetStore({ registry, fixed: config.presets, now, onChanged }),
    oauthClients,
    thoughtSeals,
    requireWritable: database.requireWritable,
    close: () => inMemory.database.close(),
  };
}

/** Wraps the registry to report changes: the offer to callers depends on the tool servers and on their keys. */
function announceChanges(registry: Registry, publish: OfferChanges['publish']): Registry {
  const lists = ['tools', 'resources', 'prompts'] as const;
  async function announced(writing: Promise<void>): Promise<void> {
    await writing;
    publish({ lists });
  }
  return {
    ...registry,
    createToolServer: (record) => announced(registry.createToolServer(record)),
    changeToolServer: (record) => announced(registry.changeToolServer(record)),
    deleteToolServer: (id) => announced(registry.deleteToolServer(id)),
    replaceToolServers: (records) => announced(registry.replaceToolServers(records)),
    async changeKey(record) {
      await registry.changeKey(record);
      publish({ lists, ownerId: record.id, hasOtherRights: true });
    },
  };
}

/** Wraps the registry: deleting a tool server also deletes everybody's credentials and sign-ins for it. */
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
      const remaining = new Set((await registry.listToolServers('all')).map(({ id }) => id));
      await deleteOfServers(before.flatMap(({ id }) => (remaining.has(id) ? [] : [id])));
    },
  };
}
