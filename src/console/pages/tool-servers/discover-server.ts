import type { AnswerOf, BodyOf } from '../../api/api-types.ts';
import { ApiError, call } from '../../api/request.ts';

export type Report = AnswerOf<'POST /api/tool-servers/verify'>;
type Kind = 'openapi' | 'mcp';

/** What an address is taken for. */
export interface Place {
  kind: Kind;
  url: string;
  /** Of the document, where it is not at the usual place. */
  path?: string;
}

export interface Discovery extends Place {
  report: Report;
  /** What came of the other ways to read the address, where none has worked. */
  others: readonly (Place & { report: Report })[];
}

/** Where frameworks put their documents; `openapi.json` is what is asked for first. */
const documentPaths = [
  'swagger.json',
  'openapi.yaml',
  'v3/api-docs',
  'openapi/v1.json',
  'swagger/v1/swagger.json',
  'schema/openapi.json',
  'api-json',
  'api/openapi.json',
  'docs/openapi.json',
];

/**
 * What is at an address, which does not say so itself: an OpenAPI or an MCP server, both asked at the same time. Where an address without a path answers with
 * something else, its usual places are tried too.
 * @throws ApiError for what is wrong whatever it is; the signal's reason
 */
export async function discoverServer(address: string, auth: object, signal: AbortSignal): Promise<Discovery> {
  const kinds: Kind[] = /\/(?:mcp|sse)\/?(?:\?.*)?$/.test(address) ? ['mcp', 'openapi'] : ['openapi', 'mcp'];
  const first = await firstThatWorks(
    kinds.map((kind) => ({ kind, url: address })),
    { auth, signal },
  );
  if (first.report.ok || isWanted(first) || !isRootThatAnswers(address, first)) return first;
  const root = address.replace(/\/+$/, '');
  const places: Place[] = [
    ...documentPaths.map((path): Place => ({ kind: 'openapi', url: root, path })),
    { kind: 'mcp', url: `${root}/mcp` },
  ];
  const second = await firstThatWorks(places, { auth, signal });
  return second.report.ok || second.report.credential !== undefined ? second : first;
}

/** It is the right one, but shows its functions only to others. */
function isWanted({ report }: Discovery): boolean {
  return report.credential !== undefined;
}

/** Nothing else is asked of a machine that does not answer. */
function isRootThatAnswers(address: string, { report, others }: Discovery): boolean {
  const answers = [report, ...others.map((other) => other.report)];
  return new URL(address).pathname === '/' && answers.some(({ error = '' }) => /\bHTTP\b|HTML|status/.test(error));
}

interface Circumstances {
  auth: object;
  signal: AbortSignal;
}

/** The first place of the list that works, else the first that wants a credential, else the first. */
async function firstThatWorks(places: readonly Place[], { auth, signal }: Circumstances): Promise<Discovery> {
  const rest = new AbortController();
  const asked = places.map((place) => ask(place, { auth, signal: AbortSignal.any([signal, rest.signal]) }));
  const seen: Omit<Discovery, 'others'>[] = [];
  try {
    for (const asking of asked) {
      const looked = await asking;
      if (looked.report.ok) return { ...looked, others: [] };
      seen.push(looked);
    }
  } finally {
    rest.abort();
    for (const asking of asked) asking.catch(() => undefined);
  }
  const best = seen.find(({ report }) => report.credential !== undefined) ?? seen[0];
  if (best === undefined) throw new Error('There is no place to look at.');
  return { ...best, others: seen.filter((other) => other !== best) };
}

async function ask({ kind, url, path }: Place, { auth, signal }: Circumstances): Promise<Omit<Discovery, 'others'>> {
  const body = { url, type: kind, ...(path !== undefined && { path }), ...auth } as BodyOf<'POST /api/tool-servers/verify'>;
  const place = { kind, url, ...(path !== undefined && { path }) };
  try {
    return { ...place, report: await call('POST /api/tool-servers/verify', { body, signal }) };
  } catch (error) {
    // Not every credential is for every kind of server.
    if (!(error instanceof ApiError) || error.status !== 400) throw error;
    const nothing = { info: null, version: null, functions: [], renamed: [], omitted: [], warnings: [], tokens: 0 };
    return { ...place, report: { ok: false, error: error.message, ...nothing } };
  }
}
