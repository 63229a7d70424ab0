/** Paths that clients request by mistake, mostly because of a wrong base URL, or that OpenAI alone has, and what to do instead. */
const hints: [path: RegExp, cure: string][] = [
  [/^\/v1\/v1\//, 'The base URL of this client names /v1 twice.'],
  [/\/chat\/completions\/[a-z/]+$/, 'The base URL of a client ends with /v1: it adds the rest of the path itself.'],
  [
    /^\/(?:chat\/completions|completions|models|embeddings|responses|messages(?:\/count_tokens)?)$/,
    'The base URL of a client ends with /v1.',
  ],
  [/^\/v1\/responses\/input_tokens$/, 'Tokens are counted by POST /v1/messages/count_tokens, as an estimate.'],
  [/^\/v1$/, 'This is the base URL for clients of the OpenAI API, which add the rest of the path: GET /v1/models lists the models.'],
  [/\/(?:mcp|sse)$/, 'MCP clients find the functions at /mcp (Streamable HTTP).'],
  [/^\/(?:ws|socket|websocket|api\/ws|v1\/ws|v1\/realtime|socket\.io)$/, 'The websocket of the gateway is at /ws.'],
  [/^\/(?:v1|api)\/api\//, 'The base URL of a client of Ollama has no path: it adds /api itself.'],
];

/** A path as the router matches it: without duplicate and trailing slashes. */
export function tidyPath(path: string): string {
  const single = path.replaceAll(/\/{2,}/g, '/');
  return single.length > 1 && single.endsWith('/') ? single.slice(0, -1) : single;
}

/** The cure for a wrong path, with a leading space; empty if none is known. `path` has no query and at most 200 characters. */
export function notFoundHint(path: string): string {
  const cure = hints.find(([pattern]) => pattern.test(path))?.[1];
  return cure === undefined ? '' : ` ${cure}`;
}
