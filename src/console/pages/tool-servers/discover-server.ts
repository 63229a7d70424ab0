import type { AnswerOf, BodyOf } from '../../api/api-types.ts';
import { ApiError, call } from '../../api/request.ts';

export type Report = AnswerOf<'POST /api/tool-servers/verify'>;
type Kind = 'openapi' | 'mcp';

/** Where a tool server is, and of what kind. */
export interface ServerLocation {
  kind: Kind;
  url: string;
  /** The path of the OpenAPI document, if a person has entered one. */
  path?: string;
}

export interface Discovery extends ServerLocation {
  report: Report;
  /** If no location works: the reports of the other ones. */
  others: readonly (ServerLocation & { report: Report })[];
}

/** What to look for. `path`: that of the OpenAPI document, if a person has entered one. */
interface Sought {
  url: string;
  path?: string | undefined;
}

/**
 * Finds out whether a URL leads to an OpenAPI or an MCP server by trying both at once; the gateway looks for the document itself. If a URL without a
 * path answers with something else, the usual endpoint of MCP is tried too.
 * @throws ApiError if the request fails for any kind of server; the reason of the signal
 */
export async function discoverServer({ url, path }: Sought, auth: object, signal: AbortSignal): Promise<Discovery> {
  if (path !== undefined) return firstThatWorks([{ kind: 'openapi', url, path }], { auth, signal });
  const kinds: Kind[] = /\/(?:mcp|sse)\/?(?:\?.*)?$/.test(url) ? ['mcp', 'openapi'] : ['openapi', 'mcp'];
  const first = await firstThatWorks(
    kinds.map((kind) => ({ kind, url })),
    { auth, signal },
  );
  if (first.report.ok || needsCredential(first) || !isRootThatAnswers(url, first)) return first;
  const second = await firstThatWorks([{ kind: 'mcp', url: `${url.replace(/\/+$/, '')}/mcp` }], { auth, signal });
  return second.report.ok || needsCredential(second) ? second : first;
}

/** The server is right, but does not list its functions without a credential. */
function needsCredential({ report }: Discovery): boolean {
  return report.credential !== undefined;
}

/** Other paths are only tried on a machine that answers. */
function isRootThatAnswers(url: string, { report, others }: Discovery): boolean {
  const answers = [report, ...others.map((other) => other.report)];
  return new URL(url).pathname === '/' && answers.some(({ error = '' }) => /\bHTTP\b|HTML|status/.test(error));
}

interface DiscoveryOptions {
  auth: object;
  signal: AbortSignal;
}

/** The first location that works, else the first one that needs a credential, else the first one. */
async function firstThatWorks(locations: readonly ServerLocation[], { auth, signal }: DiscoveryOptions): Promise<Discovery> {
  const rest = new AbortController();
  const checks = locations.map((location) => verify(location, { auth, signal: AbortSignal.any([signal, rest.signal]) }));
  const seen: Omit<Discovery, 'others'>[] = [];
  try {
    for (const check of checks) {
      const found = await check;
      if (found.report.ok) return { ...found, others: [] };
      seen.push(found);
    }
  } finally {
    rest.abort();
    for (const check of checks) check.catch(() => undefined);
  }
  const best = seen.find(({ report }) => report.credential !== undefined) ?? seen[0];
  if (best === undefined) throw new Error('There is no location to check.');
  return { ...best, others: seen.filter((other) => other !== best) };
}

async function verify({ kind, url, path }: ServerLocation, { auth, signal }: DiscoveryOptions): Promise<Omit<Discovery, 'others'>> {
  const body = { url, type: kind, ...(path !== undefined && { path }), ...auth } as BodyOf<'POST /api/tool-servers/verify'>;
  const location = { kind, url, ...(path !== undefined && { path }) };
  try {
    return { ...location, report: await call('POST /api/tool-servers/verify', { body, signal }) };
  } catch (error) {
    // Some credentials only exist for one kind of server.
    if (!(error instanceof ApiError) || error.status !== 400) throw error;
    const empty = { info: null, version: null, functions: [], renamed: [], omitted: [], warnings: [], tokens: 0 };
    return { ...location, report: { ok: false, error: error.message, ...empty } };
  }
}
