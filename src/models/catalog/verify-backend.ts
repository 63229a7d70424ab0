import { GatewayError } from '../../core/errors.ts';
import type { BackendConfig } from '../../core/models/backend-config.ts';
import type { BackendVerification, ModelFacts, ServerVerification } from '../../core/models/backend-report.ts';
import type { ModelRecord } from '../../core/models/model.ts';
import { explainListFault, unreadableReason, type ListAs } from './explain-list-fault.ts';
import { toModelFacts } from './model-facts.ts';
import { hasNoList, isNamedBy } from './limit-models.ts';

/** Names that a warning lists. */
const shownNames = 10;

interface AskedServer extends ServerVerification {
  /** Undefined if it has none, or does not answer. */
  records: ModelRecord[] | undefined;
}

/** Asks every server of a backend for its models now. `listAs` lists them regardless of `models`. */
export async function verifyBackend(backend: BackendConfig, listAs: ListAs): Promise<BackendVerification> {
  const { kind, models: named } = backend;
  const asked = await Promise.all(backend.urls.map((url) => askServer(backend, url, listAs)));
  const servers = asked.map(({ records: _records, ...server }) => server);
  const lists = asked.flatMap(({ url, records }) => (records === undefined ? [] : [{ url, ids: records.map(({ id }) => id) }]));
  const byName = new Map(asked.flatMap(({ records = [] }) => records.map((record) => [record.id, record] as const)));
  const listed = [...byName.keys()];
  const isOk = servers.every(({ fault }) => fault === undefined);
  const offered = named === undefined ? listed : listed.length === 0 && isOk ? [...named] : listed.filter((id) => isNamedBy(named, id));
  const withoutList = asked.filter(({ records, fault }) => records === undefined && fault === undefined);
  return {
    isOk,
    models: offered,
    facts: offered.map((name) => factsOf(backend, name, byName.get(name))),
    servers,
    warnings: [
      ...withoutList.map(({ url }) => `${url} has no list of models: those in \`models\` are offered without being checked.`),
      ...lists.flatMap(({ url, ids }) => missingFrom(url, ids, named ?? listed)),
      ...lists.filter(({ ids }) => ids.length === 0).map(({ url }) => `${url} lists no models.`),
      ...(kind === 'openai' && asked.some(({ records }) => isListOfOllama(records)) ? [ollamaHint(backend)] : []),
    ],
  };
}

async function askServer(backend: BackendConfig, url: string, listAs: ListAs): Promise<AskedServer> {
  try {
    if (backend.unreadableSecrets !== undefined) throw new GatewayError('storage_unavailable', unreadableReason(backend));
    const records = await listAs(backend.kind, url);
    return { url, models: records.length, records };
  } catch (error) {
    const isListNeeded = backend.models === undefined || !hasNoList(error);
    const diagnosis = isListNeeded ? await explainListFault({ backend, url, error }, listAs) : {};
    return { url, models: 0, records: undefined, ...diagnosis };
  }
}

function factsOf({ prefix }: BackendConfig, name: string, record: ModelRecord | undefined): ModelFacts {
  const id = prefix === undefined ? name : `${prefix}/${name}`;
  return record === undefined ? { id } : toModelFacts(record, id);
}

/** Wanted models that a server does not list: requests that reach it cannot have them. */
function missingFrom(url: string, ids: readonly string[], wanted: readonly string[]): string[] {
  const missing = ids.length === 0 ? [] : wanted.filter((name) => !ids.some((id) => isNamedBy([name], id)));
  if (missing.length === 0) return [];
  const more = missing.length > shownNames ? ` and ${missing.length - shownNames} more` : '';
  return [`${url} does not list ${missing.slice(0, shownNames).join(', ')}${more}.`];
}

/** Ollama names the library that a model is from as its owner. */
function isListOfOllama(records: readonly ModelRecord[] | undefined): boolean {
  return records?.some(({ owner }) => owner === 'library') ?? false;
}

function ollamaHint({ url }: BackendConfig): string {
  return `This is an Ollama. With \`type: ollama\` and \`url: ${url.replace(/\/v1$/, '')}\` the gateway also sets its context, so that it does not cut prompts.`;
}
