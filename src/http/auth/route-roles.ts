/**
 * Who may call a route. `public`: everybody, without a key. `socket`: the route checks the key itself, because a page can send one only in a
 * subprotocol or a frame. `user`: every caller, for using the gateway and managing their own data. `admin-read`: administrators, for inspecting the
 * gateway. `admin-change`: administrators, for changing the gateway for everybody or making it connect to an address of their choice. In open
 * mode every caller may use `admin-read` routes too; `admin-change` routes require the startup key. `metrics`: as `admin-read`, and with `METRICS_KEY`.
 * `nobody`: what a client may ask for by habit and no key may do.
 */
export type Access = 'public' | 'socket' | 'user' | 'admin-read' | 'admin-change' | 'metrics' | 'nobody';

/** Every route of the gateway and who may call it. The gateway does not start if a registered route is missing here. */
export const routeRoles: Readonly<Record<string, Access>> = {
  'GET /': 'public',
  // The console's page and its files, which hold nothing of anybody: what it shows it asks for with a key.
  'GET /console': 'public',
  'GET /console/*': 'public',
  'GET /console/assets/:file': 'public',
  'GET /health': 'public',
  'GET /ready': 'public',
  'GET /client.js': 'public',
  // The same in every gateway of this version.
  'GET /openapi.json': 'public',
  'GET /docs': 'public',
  // The link is the proof: it names one suspension of one run, and nobody can guess it.
  'GET /approvals/:link': 'public',
  'POST /approvals/:link': 'public',
  // Likewise, for one caller and one tool server. Where that caller has a key of their own, the page demands it.
  'GET /connect/:link': 'public',
  'POST /connect/:link': 'public',
  // `state` and a cookie of the browser are the proof.
  'GET /oauth/callback': 'public',
  'GET /oauth/callback/:issuer': 'public',
  'GET /oauth/client-metadata.json': 'public',
  'GET /oauth/client-metadata/:issuer': 'public',
  // The gateway as the authorization server of `/mcp`: programs prove themselves by what OAuth asks for, and people on its page.
  'GET /.well-known/oauth-protected-resource': 'public',
  'GET /.well-known/oauth-protected-resource/*': 'public',
  'GET /.well-known/oauth-authorization-server': 'public',
  'GET /.well-known/oauth-authorization-server/*': 'public',
  'GET /oauth/authorize': 'public',
  'GET /oauth/authorize/:uid': 'public',
  'GET /oauth/consent/:uid': 'public',
  'POST /oauth/consent/:uid': 'public',
  'POST /oauth/token': 'public',
  'POST /oauth/register': 'public',
  'POST /oauth/revoke': 'public',
  // Whom the OpenID provider says to be there, and the cookie that the browser then has. The console's own page alone may use that.
  'GET /login': 'public',
  'GET /login/callback': 'public',
  'POST /login/token': 'public',
  'POST /logout': 'public',
  // The public key of session tokens, for tool servers.
  'GET /.well-known/jwks.json': 'public',
  // The answer to a browser's preflight, which never carries a key.
  'OPTIONS *': 'public',
  'GET /ws': 'socket',

  'POST /v1/chat/completions': 'user',
  'POST /api/chat/completions': 'user',
  'POST /api/v1/chat/completions': 'user',
  'POST /v1/completions': 'user',
  'POST /api/chat': 'user',
  'POST /api/generate': 'user',
  'POST /v1/messages': 'user',
  'POST /v1/messages/count_tokens': 'user',
  'POST /v1/responses': 'user',
  // A websocket.
  'GET /v1/responses': 'user',
  'POST /v1/responses/compact': 'user',
  'POST /api/embed': 'user',
  'POST /api/embeddings': 'user',
  'GET /api/tags': 'user',
  'GET /api/ps': 'user',
  'POST /api/show': 'user',
  'POST /api/pull': 'nobody',
  'POST /api/push': 'nobody',
  'POST /api/create': 'nobody',
  'POST /api/copy': 'nobody',
  'DELETE /api/delete': 'nobody',
  'POST /api/blobs/:digest': 'nobody',
  'GET /api/blobs/:digest': 'nobody',
  // Each caller's own chats of the console (CONSOLE_CHATS).
  'GET /api/console/chats': 'user',
  'GET /api/console/chats/export': 'user',
  'GET /api/console/chats/:id': 'user',
  'PUT /api/console/chats/:id': 'user',
  'DELETE /api/console/chats/:id': 'user',
  // Each caller's own stored chats; those of others answer 404, even for administrators.
  'GET /v1/chat/completions': 'user',
  'GET /v1/chat/completions/:id': 'user',
  'GET /v1/chat/completions/:id/messages': 'user',
  'POST /v1/chat/completions/:id': 'user',
  'DELETE /v1/chat/completions/:id': 'user',
  // Each caller's own stored responses; those of others answer 404, even for administrators.
  'GET /v1/responses/:id': 'user',
  'GET /v1/responses/:id/input_items': 'user',
  'POST /v1/responses/:id/cancel': 'user',
  'DELETE /v1/responses/:id': 'user',
  'GET /v1/models': 'user',
  'GET /v1/models/*': 'user',
  'GET /api/models': 'user',
  'GET /api/v1/models': 'user',
  'POST /v1/embeddings': 'user',
  'POST /v1/audio/speech': 'user',
  'POST /v1/audio/transcriptions': 'user',
  'POST /v1/audio/translations': 'user',
  'POST /v1/images/generations': 'user',
  'POST /v1/images/edits': 'user',
  'POST /v1/images/variations': 'user',
  'POST /v1/rerank': 'user',
  'POST /v1/moderations': 'user',
  'GET /api/version': 'user',
  'GET /api/caller': 'user',
  'GET /api/tools': 'user',
  'POST /api/tools/*': 'user',
  'GET /api/tools/openapi.json': 'user',
  'POST /api/tools/:name/call': 'user',
  'POST /mcp': 'user',
  'GET /mcp': 'user',
  'DELETE /mcp': 'user',
  // Each caller's own runs; those of others answer 404. Administrators see all runs.
  'GET /api/runs': 'user',
  'GET /api/runs/:id': 'user',
  'POST /api/runs/:id/cancel': 'user',
  'POST /api/runs/:id/calls/:call_id/cancel': 'user',
  'POST /api/tasks/stop/:id': 'user',
  // Only the caller's own runs, even for administrators.
  'POST /api/runs/:id/approvals/:call_id': 'user',
  'POST /api/runs/:id/resume': 'user',

  // Only the caller's own, even for administrators.
  'GET /api/credentials': 'user',
  'PUT /api/credentials/:server': 'user',
  'POST /api/credentials/:server/connect': 'user',
  'DELETE /api/credentials/:server': 'user',

  // Each caller's own; administrators see those of everybody.
  'GET /api/clients': 'user',
  'DELETE /api/clients/:id': 'user',

  // Users see the presets that their key may use, without the prompts.
  'GET /api/presets': 'user',
  'GET /api/presets/:id': 'user',
  'POST /api/presets': 'admin-change',
  'PATCH /api/presets/:id': 'admin-change',
  'DELETE /api/presets/:id': 'admin-change',
  'GET /api/backends': 'admin-read',
  'POST /api/backends': 'admin-change',
  'POST /api/backends/verify': 'admin-change',
  'GET /api/backends/:id': 'admin-read',
  'PATCH /api/backends/:id': 'admin-change',
  'DELETE /api/backends/:id': 'admin-change',
  'POST /api/backends/:id/verify': 'admin-change',
  'GET /api/keys': 'admin-read',
  'POST /api/keys': 'admin-change',
  'PATCH /api/keys/:id': 'admin-change',
  'DELETE /api/keys/:id': 'admin-change',
  'GET /api/tool-servers': 'admin-read',
  'POST /api/tool-servers': 'admin-change',
  'PUT /api/tool-servers': 'admin-change',
  'GET /api/tool-servers/:id': 'admin-read',
  'PATCH /api/tool-servers/:id': 'admin-change',
  'DELETE /api/tool-servers/:id': 'admin-change',
  'POST /api/tool-servers/:id/refresh': 'admin-change',
  'POST /api/tool-servers/:id/accept': 'admin-change',
  'POST /api/tool-servers/verify': 'admin-change',
  'GET /api/v1/configs/tool_servers': 'admin-read',
  'POST /api/v1/configs/tool_servers': 'admin-change',
  'POST /api/v1/configs/tool_servers/verify': 'admin-change',
  'GET /api/settings': 'admin-read',
  'GET /api/doctor': 'admin-read',
  'GET /api/audit': 'admin-read',
  // Users see their own.
  'GET /api/usage': 'user',
  'GET /api/users': 'admin-read',
  'DELETE /api/users/:key/:id': 'admin-change',
  'GET /api/keys/:id/credentials': 'admin-read',
  'DELETE /api/keys/:id/credentials/:server': 'admin-change',
  'GET /api/users/:key/:id/credentials': 'admin-read',
  'DELETE /api/users/:key/:id/credentials/:server': 'admin-change',
  'GET /metrics': 'metrics',
};

/** Undefined for a route without a row. `HEAD` is `GET` without the body. */
export function findAccess(method: string, url: string, table: Readonly<Record<string, Access>> = routeRoles): Access | undefined {
  const row = `${method === 'HEAD' ? 'GET' : method} ${url}`;
  return Object.hasOwn(table, row) ? table[row] : undefined;
}

/** What a key that speaks for several people may read without saying for whom: nothing of theirs is in it. */
const impersonal: ReadonlySet<string> = new Set([
  'GET /v1/models',
  'GET /v1/models/*',
  'GET /api/models',
  'GET /api/v1/models',
  'GET /api/version',
  'GET /api/caller',
  'GET /api/tags',
  'GET /api/ps',
  'POST /api/show',
  'GET /openapi.json',
  // Open WebUI reads it before it knows for whom a function is called.
  'GET /api/tools/openapi.json',
]);

/** The routes that take a token of a program, which it has by OAuth. They are all of the MCP server, and no others. */
export function takesClientTokens({ routeOptions }: { routeOptions: { url?: string | undefined } }): boolean {
  return routeOptions.url === '/mcp';
}

export function needsPerson({ method, routeOptions }: { method: string; routeOptions: { url?: string | undefined } }): boolean {
  return !impersonal.has(`${method === 'HEAD' ? 'GET' : method} ${routeOptions.url ?? ''}`);
}
