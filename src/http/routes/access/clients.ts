import type { FastifyPluginAsync } from 'fastify';
import type { Caller } from '../../../core/callers/caller.ts';
import { unknownId } from '../../../core/errors.ts';
import type { GrantRecord, GrantStore } from '../../../core/stores/grant-store.ts';
import type { OpenAnswers } from '../../authorization-server/open-answers.ts';
import type { ClientWire } from './clients-description.ts';
import { listQuery, pageIn } from '../list-page.ts';
import { parseInput } from '../../parse-input.ts';

interface ClientRouteOptions {
  store: Pick<GrantStore, 'list' | 'deleteClient'>;
  openAnswers: Pick<OpenAnswers, 'endClient'>;
  /** Milliseconds since 1970. */
  now: () => number;
}

/** `/api/clients`: programs with access to `/mcp`. Administrators see those of everybody, and others their own. */
export const clientRoutes: FastifyPluginAsync<ClientRouteOptions> = async (app, { store, openAnswers, now }) => {
  async function listFor(caller: Caller): Promise<ClientWire[]> {
    const filter = caller.role === 'admin' ? {} : { ownerId: caller.id };
    const authorizations = await store.list('authorization', filter, now());
    const registered = caller.role === 'admin' ? await store.list('client', {}, now()) : [];
    const byClient = new Map<string, GrantRecord[]>();
    for (const record of [...authorizations, ...registered])
      byClient.set(record.clientId, [...(byClient.get(record.clientId) ?? []), record]);
    return [...byClient].map(([id, records]) => toWire(id, records));
  }

  app.get('/api/clients', async ({ caller, query }) => {
    const { entries, next } = pageIn(await listFor(caller), parseInput(listQuery, query, 'a query with limit and after'), 'client');
    return { data: entries, ...next };
  });

  app.delete<{ Params: { id: string } }>('/api/clients/:id', async ({ params: { id }, caller, log }) => {
    const found = (await listFor(caller)).find((client) => client.id === id);
    if (found === undefined) throw unknownId('client', id, 'GET /api/clients');
    const ownerId = caller.role === 'admin' ? undefined : caller.id;
    await store.deleteClient(id, ownerId);
    openAnswers.endClient(id, ownerId);
    log.info({ client_id: found.client_id, by: caller.id }, 'program disconnected');
    return { id, deleted: true };
  });
};

function toWire(id: string, records: readonly GrantRecord[]): ClientWire {
  const authorizations = records.filter(({ kind }) => kind === 'authorization');
  const registration = records.find(({ kind }) => kind === 'client')?.value;
  const first = authorizations[0]?.value;
  const uris = registration?.['redirect_uris'] ?? authorizations.map(({ value }) => value['redirect_uri']);
  const uses = authorizations.flatMap(({ used }) => used ?? []);
  return {
    id,
    client_id: textOr(registration?.['client_id'] ?? first?.['client_id']) ?? '',
    name: textOr(registration?.['client_name'] ?? first?.['name']),
    redirect_hosts: [...new Set(Array.isArray(uris) ? uris.flatMap((uri) => hostOf(uri) ?? []) : [])],
    last_used: uses.length === 0 ? null : timeOf(Math.max(...uses)),
    authorizations: authorizations.map(({ ownerId, value, used, expires }) => ({
      caller: ownerId,
      created: timeOf(Number(value['created'])),
      last_used: used === undefined ? null : timeOf(used),
      expires: timeOf(expires),
    })),
  };
}

function hostOf(uri: unknown): string | undefined {
  const url = typeof uri === 'string' ? URL.parse(uri) : null;
  if (url === null) return undefined;
  return url.protocol === 'https:' ? url.host : `${url.protocol}//${url.hostname}`;
}

function textOr(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function timeOf(time: number): string {
  return new Date(time).toISOString();
}
