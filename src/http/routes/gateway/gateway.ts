import { readFile } from 'node:fs/promises';
import type { FastifyPluginAsync } from 'fastify';
import { limits } from '../../../core/limits.ts';
import type { Registry } from '../../../core/stores/registry.ts';

/** A setting as administrators see it. */
export interface ShownSetting {
  name: string;
  origin: 'environment' | 'file' | 'default';
  /** For people; `set` for a secret, null where nothing is set. */
  value: string | null;
}

interface GatewayRouteOptions {
  version: string;
  settings: readonly ShownSetting[];
  isDraining: () => boolean;
  registry: Pick<Registry, 'countKeys'>;
  /** @throws while nothing can be written */
  storage: { requireWritable(): Promise<void> };
  models: { backends(): Promise<{ name: string; state: string; models: number; isOptional?: true }[]> };
  tools: { servers(): Promise<{ error?: string }[]> };
  /** The public keys of session tokens (RFC 7517). */
  keySet: () => Promise<object>;
}

/** How long tool servers may cache the public keys, which change only with the gateway's secret. */
const keySetSeconds = 300;

/** Routes about the gateway itself: health, readiness, settings, public keys, and the browser client. */
export const gatewayRoutes: FastifyPluginAsync<GatewayRouteOptions> = async (app, options) => {
  const { version, settings, isDraining, registry, storage, models, tools, keySet } = options;
  let isStorageFine = true;
  const client = await readFile(new URL('../../../client/toolwharf-client.js', import.meta.url), 'utf8');

  app.get('/health', () => ({ status: true }));

  /** Logs why not, once. */
  async function isStorageUsable(): Promise<boolean> {
    const wasFine = isStorageFine;
    try {
      await Promise.all([registry.countKeys(), storage.requireWritable()]);
      isStorageFine = true;
    } catch (error) {
      isStorageFine = false;
      if (wasFine) app.log.error({ err: error }, 'not ready: the database cannot be used');
    }
    return isStorageFine;
  }

  app.get('/ready', async (_request, reply) => {
    const reason = isDraining() ? 'draining' : (await isStorageUsable()) ? undefined : 'storage';
    reply.code(reason === undefined ? 200 : 503);
    return {
      ready: reason === undefined,
      ...(reason !== undefined && { reason }),
      // A failed backend or tool server does not make the gateway unready. Only names and states: errors contain internal addresses, and this route needs no key.
      backends: (await models.backends()).map(({ name, state, models, isOptional }) => ({
        name,
        state,
        models,
        ...(isOptional === true && { optional: true }),
      })),
      tool_servers: (await tools.servers()).map(({ error: _error, ...server }) => server),
    };
  });

  app.get('/api/settings', () => ({ version, data: settings, limits }));

  app.get('/api/caller', ({ caller: { id, name, role, isOpen, person } }) => ({
    id,
    name: name ?? null,
    role,
    // In open mode everybody at this machine, without any key.
    is_open: isOpen,
    person: person ?? null,
  }));

  app.get('/.well-known/jwks.json', async (_request, reply) =>
    reply
      .header('content-type', 'application/jwk-set+json; charset=utf-8')
      .header('access-control-allow-origin', '*')
      .header('cache-control', `public, max-age=${keySetSeconds}`)
      .send(JSON.stringify(await keySet())),
  );

  // Pages of any origin may load it: it contains no secret.
  app.get('/client.js', (_request, reply) =>
    reply
      .header('content-type', 'text/javascript; charset=utf-8')
      .header('access-control-allow-origin', '*')
      .header('cache-control', 'no-cache')
      .send(client),
  );
};
