import { isModelAllowed } from '../core/callers/caller.ts';
import type { Caller } from '../core/callers/caller.ts';
import { GatewayError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import type { FoundModel, ModelBackend, ModelFinder, ModelRecord } from '../core/models/model.ts';
import type { Embed } from '../core/models/embeddings.ts';
import type { JsonObject } from '../shared/json.ts';
import { RefusalMemory } from './remedies/lesson-memory.ts';
import { waitUnlessAborted } from '../shared/wait-for.ts';
import { ollamaPullHint } from './ollama/ollama-models.ts';

/** How long a model list is cached. */
export const modelListTtlMs = 30_000;

/** A backend and how its models are listed. */
export interface CatalogBackend {
  /** For operators and error messages: `ollama`, `openai-2`, `demo`. */
  name: string;
  /** Puts `<prefix>/` before every id of this backend. */
  prefix?: string;
  /** Whether its models run locally. */
  isLocal: boolean;
  /** Looked for where it usually is, without being configured: it may be missing. */
  isOptional?: boolean;
  backend: ModelBackend;
  /** Resolves with the backend's own ids, or rejects; the catalog sets the time limit. */
  list(signal: AbortSignal): Promise<ModelRecord[]>;
  /** Absent: there is no more to say than the list does. */
  describe?: (name: string, signal: AbortSignal) => Promise<JsonObject>;
  /** The entries of the models that are loaded, by the backend's names; absent for a backend that does not say. */
  loaded?: (signal: AbortSignal) => Promise<{ name: string; entry: JsonObject }[]>;
  embed?: Embed;
}

interface ModelCatalogOptions {
  /** In the order in which they are searched and listed. */
  backends: CatalogBackend[];
  /** Milliseconds since 1970. */
  now: () => number;
  /** Default: one of its own. */
  memory?: RefusalMemory;
}

interface BackendReport {
  name: string;
  /** `key_refused`: the backend answers 401 or 403 to the gateway's key. */
  state: 'ok' | 'unreachable' | 'key_refused';
  models: number;
  /** It is not configured, and may be missing. */
  isOptional?: true;
  /** For operators: it may contain addresses. */
  error?: string;
}

export type ModelCatalog = ModelFinder & {
  /** The state of every backend, from lists that are at most `modelListTtlMs` old. */
  backends(): Promise<BackendReport[]>;
  /** The models that are loaded. A backend that does not answer has none. */
  loaded(signal: AbortSignal): Promise<{ id: string; entry: JsonObject }[]>;
};

/** The age from which a list is read again for an unknown id, so that a model that was just pulled is found at once. */
const unknownIdAgeMs = 2_000;
/** How long a failure is cached: a backend that hangs costs its two seconds no more often than this. */
const failureTtlMs = 5_000;
/** How long models of the last list are still found after listing fails; the chat will show whether the backend answers. */
const knownMs = 10 * 60 * 1000;
const knownIdsInError = 8;

/** Why listing a backend's models failed. */
interface ListFault {
  kind: 'unreachable' | 'key_refused';
  message: string;
}

interface ListState {
  source: CatalogBackend;
  /** By the backend's own model id. Empty after a failure. */
  records: Map<string, ModelRecord>;
  /** The last successful list: a single late list must not turn chats into "no such model". */
  known: Map<string, ModelRecord>;
  knownAt: number;
  listedAt: number;
  fault: ListFault | undefined;
  refresh: Promise<void> | undefined;
}

/** One catalog of all backends' models. Lists are cached for `modelListTtlMs`; a backend that does not answer costs only its own models. */
export function createModelCatalog({ backends, now, memory = new RefusalMemory(now) }: ModelCatalogOptions): ModelCatalog {
  const states = backends.map((source): ListState => ({
    source,
    records: new Map(),
    known: new Map(),
    knownAt: -Infinity,
    listedAt: -Infinity,
    fault: undefined,
    refresh: undefined,
  }));

  const ageOf = (state: ListState): number => now() - state.listedAt;
  const isDue = (state: ListState): boolean => ageOf(state) >= (state.fault === undefined ? modelListTtlMs : failureTtlMs);

  function refresh(state: ListState): Promise<void> {
    const hadFailed = state.fault !== undefined;
    state.refresh ??= listWithin(state.source).then((outcome) => {
      state.records = new Map(outcome.records.map((record) => [record.id, record]));
      state.fault = outcome.fault;
      state.listedAt = now();
      if (outcome.fault === undefined) {
        // A backend that was away may be another version, or serve other models under the same names.
        if (hadFailed) memory.forgetBackend(state.source.name);
        state.known = state.records;
        state.knownAt = state.listedAt;
      }
      state.refresh = undefined;
    });
    return state.refresh;
  }

  async function refreshDue(): Promise<void> {
    await Promise.all(states.filter(isDue).map((state) => refresh(state)));
  }

  function publicRecord(state: ListState, record: ModelRecord): ModelRecord {
    const id = publicId(state.source, record.id);
    const listed = { ...record, id };
    if (!memory.holds({ backend: state.source.name, model: record.id }, 'tools')) return listed;
    return { ...listed, capabilities: (record.capabilities ?? ['completion']).filter((capability) => capability !== 'tools') };
  }

  function findListed(id: string): FoundModel | undefined {
    return findIn(id, (state) => (isDue(state) ? undefined : state.records));
  }

  /** Looks in lists from before a failure. */
  function findKnown(id: string): FoundModel | undefined {
    return findIn(id, (state) => (state.fault !== undefined && now() - state.knownAt < knownMs ? state.known : undefined));
  }

  function findIn(id: string, recordsOf: (state: ListState) => ListState['records'] | undefined): FoundModel | undefined {
    for (const state of states) {
      const name = nameWithin(state.source, id);
      const records = recordsOf(state);
      if (name === undefined || records === undefined) continue;
      const record = records.get(name) ?? records.get(withOtherTag(name));
      if (record === undefined) continue;
      const listed = publicRecord(state, record);
      const { backend, describe, embed } = state.source;
      const contextTokens = contextTokensOf(record);
      return {
        record: listed,
        name: record.id,
        backend,
        nativeTools: nativeToolsOf(listed),
        lessons: memory.of(state.source.name, record.id),
        ...(contextTokens !== undefined && { contextTokens }),
        ...(describe !== undefined && { describe: (signal) => describe(record.id, signal) }),
        ...(embed !== undefined && { embed }),
      };
    }
    return undefined;
  }

  /**
   * Reads the lists of the backends in `due` in parallel, and waits only until one of them has the model; backends that failed before have the lowest
   * priority.
   */
  async function findAfterRefresh(id: string, due: ListState[]): Promise<FoundModel | undefined> {
    const waiting = due.map((state) => ({ hadFailed: state.fault !== undefined, done: refresh(state) }));
    for (const { done } of waiting.toSorted((one, other) => Number(one.hadFailed) - Number(other.hadFailed))) {
      await done;
      const found = findListed(id);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  async function findLater(id: string, signal: AbortSignal, caller: Pick<Caller, 'models'> | undefined): Promise<FoundModel> {
    const found = await waitUnlessAborted(findAfterRefresh(id, states.filter(isDue)), signal);
    if (found !== undefined) return found;
    const older = states.filter((state) => ageOf(state) > unknownIdAgeMs);
    const foundLater = await waitUnlessAborted(findAfterRefresh(id, older), signal);
    const known = foundLater ?? findKnown(id);
    if (known !== undefined) return known;
    throw notFound(id, caller);
  }

  function notFound(id: string, caller: Pick<Caller, 'models'> | undefined): GatewayError {
    const all = states.flatMap((state) => [...state.records.values()].map((record) => publicRecord(state, record).id));
    const ids = caller === undefined ? all : all.filter((listed) => isModelAllowed(caller, listed));
    const known = ids.slice(0, knownIdsInError).join(', ');
    const more = ids.length > knownIdsInError ? ` and ${ids.length - knownIdsInError} more` : '';
    const namesOf = (kind: ListFault['kind']): string[] =>
      states.filter(({ fault }) => fault?.kind === kind).map(({ source }) => source.name);
    const dead = namesOf('unreachable');
    const refusing = namesOf('key_refused');
    const hints = states
      .filter((state) => state.fault === undefined && state.records.size === 0)
      .flatMap((state) => pullHint(state.source, nameWithin(state.source, id) ?? id) ?? []);
    const sentences = [
      `The model "${id.slice(0, 200)}" is not known.`,
      ids.length > 0 ? `Known models: ${known}${more}.` : `No backend lists any model${all.length > 0 ? ' that this key may use' : ''}.`,
      ...(dead.length > 0 ? [`Backends that do not answer: ${dead.join(', ')}.`] : []),
      ...(refusing.length > 0 ? [`Backends that refuse the key of this gateway: ${refusing.join(', ')}.`] : []),
      ...(dead.length + refusing.length > 0 ? ['The model may be there.'] : []),
      ...hints,
    ];
    return new GatewayError('model_not_found', sentences.join(' '), { param: 'model' });
  }

  return {
    require(id, signal, caller) {
      signal.throwIfAborted();
      return findListed(id) ?? findLater(id, signal, caller);
    },

    async list(signal) {
      await waitUnlessAborted(refreshDue(), signal);
      const byId = new Map<string, ModelRecord>();
      for (const state of states) {
        for (const record of state.records.values()) {
          const listed = publicRecord(state, record);
          if (!byId.has(listed.id)) byId.set(listed.id, listed);
        }
      }
      return [...byId.values()];
    },

    async loaded(signal) {
      const loaded = states.map(async ({ source }) => {
        const entries = (await source.loaded?.(signal).catch(() => [])) ?? [];
        return entries.map(({ name, entry }) => ({ id: publicId(source, name), entry }));
      });
      return (await Promise.all(loaded)).flat();
    },

    async backends() {
      await refreshDue();
      return states.map(({ source: { name, isOptional }, records, fault }) =>
        fault === undefined
          ? { name, state: 'ok', models: records.size, ...(isOptional === true && { isOptional }) }
          : { name, state: fault.kind, models: 0, ...(isOptional === true && { isOptional }), error: fault.message },
      );
    },
  };
}

/** Of the local backends, only Ollama can be without models. */
function pullHint(backend: CatalogBackend, requestedId: string): string | undefined {
  return backend.isLocal ? ollamaPullHint(backend.name, requestedId) : undefined;
}

function publicId({ prefix }: CatalogBackend, name: string): string {
  return prefix === undefined ? name : `${prefix}/${name}`;
}

/** The backend's own id of a model, or undefined if the id cannot belong to this backend. */
function nameWithin(source: CatalogBackend, id: string): string | undefined {
  if (source.prefix === undefined) return id;
  return id.startsWith(`${source.prefix}/`) ? id.slice(source.prefix.length + 1) : undefined;
}

/** The same name with `:latest` appended, or without it: no tag means this one, and clients of Ollama add and drop it. */
function withOtherTag(name: string): string {
  return name.endsWith(latest) ? name.slice(0, -latest.length) : name + latest;
}

const latest = ':latest';

function nativeToolsOf(record: ModelRecord): FoundModel['nativeTools'] {
  if (record.capabilities === undefined) return 'unknown';
  return record.capabilities.includes('tools') ? 'yes' : 'no';
}

/** Never rejects. The time limit applies even if the listing ignores its signal. */
async function listWithin(source: CatalogBackend): Promise<{ records: ModelRecord[]; fault: ListFault | undefined }> {
  const deadline = new AbortController();
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const reason = new DOMException(`No answer within ${limits.modelListTimeoutMs / 1000} s`, 'TimeoutError');
    deadline.abort(reason);
    reject(reason);
  }, limits.modelListTimeoutMs);
  try {
    return { records: await Promise.race([source.list(deadline.signal), late]), fault: undefined };
  } catch (error) {
    const kind = error instanceof GatewayError && error.code === 'upstream_auth_failed' ? 'key_refused' : 'unreachable';
    return { records: [], fault: { kind, message: error instanceof Error ? error.message : 'The list of models could not be read' } };
  } finally {
    clearTimeout(timer);
  }
}

/** The names of the context length in lists (Ollama, OpenRouter, vLLM, llama.cpp). A local model may be loaded with less than it was trained for. */
const contextFields = ['context_length', 'max_model_len', 'n_ctx'];
const usualLocalContext = 32_768;

function contextTokensOf({ details, isLocal }: ModelRecord): number | undefined {
  const stated = contextFields.map((field) => details[field]).find((value) => typeof value === 'number' && value > 0);
  if (typeof stated !== 'number') return undefined;
  return isLocal ? Math.min(stated, usualLocalContext) : stated;
}
