import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';
import type { Audit } from '../core/audit.ts';
import { personCallerId } from '../core/callers/people.ts';
import type { AuditAction } from '../core/stores/audit-store.ts';
import { isJsonObject, type JsonObject } from '../shared/json/json.ts';
import { findAccess } from './auth/route-roles.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The id of what the request has created or changed, where its path does not have it. */
    changedId?: string;
  }
}

/** The routes by which administrators change the gateway. Those without an action only look. */
export const auditedRoutes: Readonly<Record<string, AuditAction | 'none'>> = {
  'POST /api/keys': 'key.create',
  'PATCH /api/keys/:id': 'key.change',
  'DELETE /api/keys/:id': 'key.delete',
  'DELETE /api/users/:key/:id': 'person.delete',
  'POST /api/tool-servers': 'tool_server.create',
  'PUT /api/tool-servers': 'tool_server.replace',
  'PATCH /api/tool-servers/:id': 'tool_server.change',
  'DELETE /api/tool-servers/:id': 'tool_server.delete',
  'POST /api/tool-servers/:id/accept': 'definition.accept',
  'POST /api/tool-servers/:id/refresh': 'none',
  'POST /api/tool-servers/verify': 'none',
  'POST /api/v1/configs/tool_servers': 'tool_server.replace',
  'POST /api/v1/configs/tool_servers/verify': 'none',
  'POST /api/backends': 'backend.create',
  'PATCH /api/backends/:id': 'backend.change',
  'DELETE /api/backends/:id': 'backend.delete',
  'POST /api/backends/:id/verify': 'none',
  'POST /api/presets': 'preset.create',
  'PATCH /api/presets/:id': 'preset.change',
  'DELETE /api/presets/:id': 'preset.delete',
  'DELETE /api/keys/:id/credentials/:server': 'credential.forget',
  'DELETE /api/users/:key/:id/credentials/:server': 'credential.forget',
};

/**
 * Records each change by an administrator before it is answered. Install it before the routes: registering a route that may change the gateway and has
 * no row throws, so that a forgotten one makes the start fail instead of leaving no record.
 */
export function auditChanges(app: FastifyInstance, audit: Audit): void {
  app.addHook('onRoute', (route: RouteOptions) => {
    for (const method of [route.method].flat()) {
      if (findAccess(method, route.url) !== 'admin-change') continue;
      const action = auditedRoutes[`${method} ${route.url}`];
      if (action === undefined)
        throw new Error(`The route ${method} ${route.url} has no row in http/audit-changes.ts. Add one that says what is recorded.`);
      if (action === 'none') continue;
      const record: NonNullable<RouteOptions['onSend']> = async (request, reply) => {
        if (reply.statusCode < 400) await audit.record({ callerId: request.caller.id, action, ...describe(request, action) });
      };
      route.onSend = [...[route.onSend ?? []].flat(), record] as NonNullable<RouteOptions['onSend']>;
    }
  });
}

/** Names that a detail has; a list may have more. */
const maxNames = 50;
const nameCharacters = 200;

function describe(request: FastifyRequest, action: AuditAction): { subject?: string | undefined; ownerId?: string; detail?: JsonObject } {
  const { key, id, server } = request.params as Record<string, string | undefined>;
  // The person is being deleted; a record with their id would outlive them.
  if (action === 'person.delete') return { subject: key ?? '' };
  if (action === 'credential.forget') return { subject: server, ownerId: key === undefined ? (id ?? '') : personCallerId(key, id ?? '') };
  const detail = detailOf(request.body, action);
  return { subject: id ?? request.changedId, ...(detail && { detail }) };
}

/** Names of the fields that were sent, never their values: they may be secrets. */
function detailOf(body: unknown, action: AuditAction): JsonObject | undefined {
  if (action === 'definition.accept') return { functions: namesOf(isJsonObject(body) ? body['functions'] : undefined) };
  if (!isJsonObject(body) || action === 'tool_server.replace') return undefined;
  // Whom a key was made for, and what it may do: its id says nothing once it is deleted.
  const { name, role } = action.startsWith('key.') ? body : {};
  return {
    fields: namesOf(body),
    ...(typeof name === 'string' && { name: name.slice(0, nameCharacters) }),
    ...(typeof role === 'string' && { role: role.slice(0, nameCharacters) }),
  };
}

export function namesOf(object: unknown): string[] {
  const names = isJsonObject(object) ? Object.keys(object) : [];
  return names.slice(0, maxNames).map((name) => name.slice(0, nameCharacters));
}
