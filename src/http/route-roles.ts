/**
 * Who may call a route. `public`: everybody, without a key. `socket`: the route checks the key itself, because a page can show one only in a
 * subprotocol or a frame. `user`: every caller. `admin`: administrators.
 */
export type Access = 'public' | 'socket' | 'user' | 'admin';

/** Every route of the gateway, as it is registered, and who may call it: the only list. A route that is not here keeps the gateway from starting. */
export const routeRoles: Readonly<Record<string, Access>> = {
  'GET /': 'public',
  'GET /health': 'public',
  'GET /ready': 'public',
  'GET /client.js': 'public',
  // The answer to a browser's preflight, which never carries a key.
  'OPTIONS *': 'public',
  'GET /ws': 'socket',

  'POST /v1/chat/completions': 'user',
  'POST /api/chat/completions': 'user',
  'POST /api/v1/chat/completions': 'user',
  // Each caller's own stored ones; another's is not there, not even for administrators.
  'GET /v1/chat/completions': 'user',
  'GET /v1/chat/completions/:id': 'user',
  'GET /v1/chat/completions/:id/messages': 'user',
  'POST /v1/chat/completions/:id': 'user',
  'DELETE /v1/chat/completions/:id': 'user',
  'GET /v1/models': 'user',
  'GET /v1/models/*': 'user',
  'GET /api/models': 'user',
  'GET /api/v1/models': 'user',
  'POST /v1/embeddings': 'user',
  'GET /api/version': 'user',
  'GET /api/tools': 'user',
  'POST /api/tools/*': 'user',
  'POST /mcp': 'user',
  'GET /mcp': 'user',
  'DELETE /mcp': 'user',
  // Each caller's own; another's is not there. Administrators see all.
  'GET /api/runs': 'user',
  'GET /api/runs/:id': 'user',
  'POST /api/runs/:id/cancel': 'user',
  'POST /api/runs/:id/calls/:call_id/cancel': 'user',
  'POST /api/tasks/stop/:id': 'user',
  // Nobody else's, not even for administrators.
  'POST /api/runs/:id/approvals/:call_id': 'user',

  // Each caller sees those that the key may use, without their prompts.
  'GET /api/presets': 'user',
  'GET /api/presets/:id': 'user',
  'POST /api/presets': 'admin',
  'PATCH /api/presets/:id': 'admin',
  'DELETE /api/presets/:id': 'admin',
  'GET /api/keys': 'admin',
  'POST /api/keys': 'admin',
  'PATCH /api/keys/:id': 'admin',
  'DELETE /api/keys/:id': 'admin',
  'GET /api/tool-servers': 'admin',
  'POST /api/tool-servers': 'admin',
  'PUT /api/tool-servers': 'admin',
  'GET /api/tool-servers/:id': 'admin',
  'PATCH /api/tool-servers/:id': 'admin',
  'DELETE /api/tool-servers/:id': 'admin',
  'POST /api/tool-servers/:id/refresh': 'admin',
  'POST /api/tool-servers/:id/accept': 'admin',
  'POST /api/tool-servers/verify': 'admin',
  'GET /api/v1/configs/tool_servers': 'admin',
  'POST /api/v1/configs/tool_servers': 'admin',
  'POST /api/v1/configs/tool_servers/verify': 'admin',
  'GET /api/settings': 'admin',
};

/** Undefined for a route without a row. `HEAD` is `GET` without the body. */
export function findAccess(method: string, url: string, table: Readonly<Record<string, Access>> = routeRoles): Access | undefined {
  const row = `${method === 'HEAD' ? 'GET' : method} ${url}`;
  return Object.hasOwn(table, row) ? table[row] : undefined;
}
