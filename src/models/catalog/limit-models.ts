import { GatewayError, OutboundError } from '../../core/errors.ts';
import type { ModelRecord } from '../../core/models/model.ts';
import type { CatalogBackend } from './catalog-backend.ts';

/** Offers only the named models of a backend. They are its list if it has none of its own. */
export function limitModels(backend: CatalogBackend, names: readonly string[]): CatalogBackend {
  return {
    ...backend,
    ...(backend.silentAddresses !== undefined && {
      silentAddresses: () => (backend.silentAddresses?.() ?? []).filter(({ error }) => !hasNoList(error)),
    }),
    async list(signal) {
      const listed = await backend.list(signal).catch((error: unknown) => {
        if (hasNoList(error)) return [];
        throw error;
      });
      return listed.length > 0 ? listed.filter(({ id }) => isNamedBy(names, id)) : names.map((id) => toRecord(id, backend));
    },
  };
}

/** Ollama lists a model without a tag as `:latest`. */
export function isNamedBy(names: readonly string[], id: string): boolean {
  return names.some((name) => id === name || id === `${name}:latest`);
}

/** Whether a server answers, but not with a list of models: some have only the route for chats. */
export function hasNoList(error: unknown): boolean {
  if (!(error instanceof GatewayError) || error.cause instanceof OutboundError) return false;
  return error.code === 'upstream_invalid_response' || error.status === 404 || error.status === 405;
}

function toRecord(id: string, { isLocal }: CatalogBackend): ModelRecord {
  return { id, owner: isLocal ? 'ollama' : 'openai', isLocal, created: 0, capabilities: undefined, details: {} };
}
