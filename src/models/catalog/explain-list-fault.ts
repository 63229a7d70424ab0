import { GatewayError, OutboundError } from '../../core/errors.ts';
import type { BackendConfig, BackendKind } from '../../core/models/backend-config.ts';
import type { ListDiagnosis } from '../../core/models/backend-report.ts';
import type { ModelRecord } from '../../core/models/model.ts';

/** Lists the models of the same backend under another type or address. */
export type ListAs = (kind: BackendKind, url: string) => Promise<ModelRecord[]>;

interface FailedServer {
  backend: BackendConfig;
  url: string;
  error: unknown;
}

interface Candidate {
  kind: BackendKind;
  url: string;
}

/** Paths of single requests, which people paste as the address of the server. */
const pastedPath = /\/(?:chat\/completions|completions|models|responses|messages|embeddings)$/;

/** Says why the models of a server cannot be listed, and what to change. If it answers at all, it is asked as what it may be instead. */
export async function explainListFault({ backend, url, error }: FailedServer, listAs: ListAs): Promise<ListDiagnosis> {
  const { kind } = backend;
  const cause = error instanceof GatewayError ? error.cause : error;
  const fault = cause instanceof OutboundError ? cause.message : faultOf(error);
  if (error instanceof GatewayError && error.code === 'storage_unavailable') return { fault, cure: unreadableCure(backend) };
  if (cause instanceof OutboundError && cause.failure !== 'redirected') return { fault, cure: unreachableCure(kind) };
  const isKeyRefused = wasKeyRefused(error);
  const candidates = isKeyRefused ? otherKeyHeaders(kind, url) : otherPlaces(kind, url);
  const tried = await Promise.all(candidates.map(async (candidate) => ({ candidate, outcome: await outcomeOf(candidate, listAs) })));
  const found =
    tried.find(({ outcome }) => outcome === 'listed') ?? tried.find(({ outcome }) => !isKeyRefused && outcome === 'key refused');
  if (found !== undefined)
    return { fault, cure: `${changeTo(found.candidate, backend)}${found.outcome === 'listed' ? '' : `; ${keyCure(backend)}`}.` };
  if (isKeyRefused) return { fault, cure: `The address is right: ${keyCure(backend)}.` };
  return { fault, cure: cureOfServer(error) ?? noListCure(kind, url) };
}

/** The words of the server are told from those of the gateway. */
function faultOf(error: unknown): string {
  if (!(error instanceof Error)) return 'Its models cannot be listed.';
  const isQuotation = error instanceof GatewayError && error.code === 'upstream_rejected';
  return isQuotation ? `It answers the question for its models with HTTP ${error.status}: ${error.message}` : error.message;
}

/** Undefined if the server itself is not at fault. */
function cureOfServer(error: unknown): string | undefined {
  if (!(error instanceof GatewayError)) return undefined;
  const { code, cause } = error;
  if (cause instanceof OutboundError && cause.failure === 'redirected') return 'Set the address to the one that it points to.';
  if (code === 'upstream_rate_limited') return 'Wait and try again. If it stays so, check the quota of its key.';
  const isFailing = code === 'upstream_error' || code === 'upstream_timeout';
  return isFailing ? 'The server answers, but fails: see its log. If it is still loading a model, try again later.' : undefined;
}

function wasKeyRefused(error: unknown): boolean {
  return error instanceof GatewayError && error.code === 'upstream_auth_failed';
}

async function outcomeOf({ kind, url }: Candidate, listAs: ListAs): Promise<'listed' | 'key refused' | 'failed'> {
  try {
    await listAs(kind, url);
    return 'listed';
  } catch (error) {
    return wasKeyRefused(error) ? 'key refused' : 'failed';
  }
}

/** Where the models of a server may be listed that does not list them here, the likeliest first. */
function otherPlaces(kind: BackendKind, url: string): Candidate[] {
  const base = url.replace(pastedPath, '');
  const versioned = /\/v\d\w*$/.test(base) ? base : `${base}/v1`;
  const bare = base.replace(/\/(?:api|v1)$/, '');
  const candidates: Candidate[] =
    kind === 'ollama'
      ? [
          { kind, url: bare },
          { kind: 'openai', url: `${bare}/v1` },
        ]
      : [
          { kind, url: base },
          { kind, url: versioned },
          { kind: 'ollama', url: bare },
        ];
  return candidates.filter((candidate) => candidate.kind !== kind || candidate.url !== url);
}

/** Anthropic's API has its key in another header than the others. */
function otherKeyHeaders(kind: BackendKind, url: string): Candidate[] {
  if (kind === 'ollama') return [];
  return [{ kind: kind === 'anthropic' ? 'openai' : 'anthropic', url }];
}

const speaks: Readonly<Record<BackendKind, string>> = {
  openai: 'speaks the OpenAI API',
  'openai-responses': "speaks OpenAI's Responses API",
  anthropic: 'speaks the Anthropic API',
  ollama: 'is an Ollama',
};

function changeTo({ kind, url }: Candidate, backend: BackendConfig): string {
  if (kind === backend.kind) return `Set the address to ${url}`;
  const variable = backend.origin === 'environment' && kind === 'ollama' ? ' (as a variable: OLLAMA_BASE_URLS)' : '';
  return `This server ${speaks[kind]}: set \`type: ${kind}\` and \`url: ${url}\`${variable}`;
}

function keyCure({ key }: BackendConfig): string {
  return key === undefined ? 'set its key' : 'check its key';
}

function unreachableCure(kind: BackendKind): string {
  return kind === 'ollama' ? 'Start Ollama there, or correct the address.' : 'Start the server, or correct the address.';
}

function noListCure(kind: BackendKind, url: string): string {
  if (kind === 'ollama') {
    const bare = url.replace(/\/(?:api|v1)$/, '');
    return bare === url ? unreachableCure(kind) : `Set the address without this ending: ${bare}`;
  }
  const ending = /\/v\d/.test(url) ? 'correct the address' : 'end the address with /v1';
  return `It answers, but lists no models at ${url}/models: ${ending}; if it has no list, name its models in \`models\`.`;
}

/** Why a backend whose stored secrets cannot be decrypted is left out. */
export function unreadableReason({ name, unreadableSecrets = [] }: BackendConfig): string {
  return `The stored ${unreadableSecrets.join(', ')} of the backend "${name}" cannot be read with this TOOLWHARF_SECRET.`;
}

function unreadableCure({ name }: BackendConfig): string {
  return `Set the secret they were stored with, or give new values: PATCH /api/backends/${encodeURIComponent(name)}.`;
}
