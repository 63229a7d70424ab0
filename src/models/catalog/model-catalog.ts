import { isModelAllowed } from '../../core/callers/caller.ts';
import { GatewayError } from '../../core/errors.ts';
import type { ModelFacts } from '../../core/models/backend-report.ts';
import type { AskingCaller, FoundModel, ModelFinder, ModelRecord } from '../../core/models/model.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import type { CatalogBackend, SilentAddress } from './catalog-backend.ts';
import { BackendModels, type ListFault } from './backend-models.ts';
import { statedContext, toModelFacts } from './model-facts.ts';
import { picturesForModel } from './tool-pictures.ts';
import { RefusalMemory } from '../remedies/refusal-memory.ts';
import { waitUnlessAborted } from '../../shared/async/wait-for.ts';
import { ollamaPullHint } from '../ollama/ollama-models.ts';

interface ModelCatalogOptions {
  /** In the order in which they are searched and listed. */
  backends: readonly CatalogBackend[];
  /** Milliseconds of a monotonic clock, which measures the ages of lists. */
  now: () => number;
  /** Default: one of its own. */
  memory?: RefusalMemory;
}

interface BackendReport {
  name: string;
  /** `partly_unreachable`: some of its addresses do not list their models, so the others answer. `key_refused`: the backend answers 401 or 403 to the gateway's key. `secret_unreadable`: its stored key cannot be decrypted, so it is not asked. */
  state: 'ok' | 'partly_unreachable' | ListFault['kind'];
  models: number;
  /** It is not configured, and may be missing. */
  isOptional?: true;
  /** For operators: it may contain addresses. */
  error?: string;
}

export type ModelCatalog = ModelFinder & {
  /** The state of every backend, from lists that are at most `modelListTtlMs` old. */
  backends(): Promise<BackendReport[]>;
  /** What the last list of a backend says about its models. Empty if it cannot be listed, or there is no such backend. */
  factsOf(backend: string): Promise<ModelFacts[]>;
  /** The models that are loaded. A backend that does not answer has none. */
  loaded(signal: AbortSignal): Promise<{ id: string; entry: JsonObject }[]>;
};

export type ChangeableCatalog = ModelCatalog & {
  /** Takes effect with the next question. Chats that run go on with the backends they have found. */
  replaceBackends(backends: readonly CatalogBackend[]): void;
};

/** The age from which a list is read again for an unknown id, so that a model that was just pulled is found at once. */
const unknownIdAgeMs = 2_000;
const knownIdsInError = 8;

/** One catalog of all backends' models. Lists are cached for `modelListTtlMs`; a backend that does not answer costs only its own models. */
export function createModelCatalog({ backends, now, memory = new RefusalMemory(now) }: ModelCatalogOptions): ChangeableCatalog {
  return new BackendsCatalog({ backends, now, memory });
}

/** A model that a caller asks for. */
interface Sought {
  id: string;
  caller: AskingCaller | undefined;
}

class BackendsCatalog implements ChangeableCatalog {
  readonly #found = new WeakMap<ModelRecord, { source: CatalogBackend; model: FoundModel }>();
  readonly #memory: RefusalMemory;
  readonly #now: () => number;
  #backends: readonly BackendModels[] = [];
  #sources: readonly CatalogBackend[] = [];

  constructor({ backends, now, memory }: Required<ModelCatalogOptions>) {
    this.#memory = memory;
    this.#now = now;
    this.replaceBackends(backends);
  }

  /** Backends that stay keep their lists. Nothing that was learned about the others is true of those that take their names. */
  replaceBackends(sources: readonly CatalogBackend[]): void {
    if (sources === this.#sources) return;
    const before = new Map(this.#backends.map((backend) => [backend.source, backend]));
    this.#sources = sources;
    this.#backends = sources.map((source) => {
      // A backend that was away may be another version, or serve other models under the same names.
      const onRecovery = (): void => this.#memory.forgetBackend(source.name);
      return before.get(source) ?? new BackendModels(source, { now: this.#now, onRecovery });
    });
    const still = new Set(sources);
    for (const source of before.keys()) if (!still.has(source)) this.#memory.forgetBackend(source.name);
  }

  require(id: string, signal: AbortSignal, caller?: AskingCaller): FoundModel | Promise<FoundModel> {
    signal.throwIfAborted();
    return this.#findListed(id, caller) ?? this.#findLater(id, signal, caller);
  }

  async list(signal: AbortSignal, caller?: AskingCaller): Promise<ModelRecord[]> {
    await waitUnlessAborted(this.#refreshDue(), signal);
    const byId = new Map<string, ModelRecord>();
    for (const record of this.#listed(caller)) if (!byId.has(record.id)) byId.set(record.id, record);
    return [...byId.values()];
  }

  async loaded(signal: AbortSignal): Promise<{ id: string; entry: JsonObject }[]> {
    const loaded = this.#backends.map(async ({ source }) => {
      const entries = (await source.loaded?.(signal).catch(() => [])) ?? [];
      return entries.map(({ name, entry }) => ({ id: publicId(source, name), entry }));
    });
    return (await Promise.all(loaded)).flat();
  }

  async backends(): Promise<BackendReport[]> {
    await this.#refreshDue();
    return this.#backends.map(({ source: { name, isOptional, silentAddresses }, records, fault }) => {
      const optional = isOptional === true && { isOptional };
      if (fault !== undefined) return { name, state: fault.kind, models: 0, ...optional, error: fault.message };
      const silent = silentAddresses?.() ?? [];
      if (silent.length === 0) return { name, state: 'ok', models: records.size, ...optional };
      return { name, state: 'partly_unreachable', models: records.size, ...optional, error: silent.map(toSentence).join(' ') };
    });
  }

  async factsOf(name: string): Promise<ModelFacts[]> {
    await this.#refreshDue();
    const { source, records } = this.#backends.find((backend) => backend.source.name === name) ?? {};
    if (source === undefined || records === undefined) return [];
    return [...records.values()].map((record) => toModelFacts(record, publicId(source, record.id)));
  }

  async #refreshDue(): Promise<void> {
    await Promise.all(this.#backends.filter(({ isDue }) => isDue).map((backend) => backend.refresh()));
  }

  #listed(caller: AskingCaller | undefined): ModelRecord[] {
    return this.#backends.flatMap(({ source, records }) =>
      [...records.values()].map((record) => this.#publicRecord(source, record, caller)),
    );
  }

  /** As this caller sees it: a lesson may hold for one caller only. */
  #publicRecord(source: CatalogBackend, record: ModelRecord, caller: AskingCaller | undefined): ModelRecord {
    const listed = { ...record, id: publicId(source, record.id) };
    if (!this.#lacksTools(source, record, caller)) return listed;
    return { ...listed, capabilities: (record.capabilities ?? ['completion']).filter((capability) => capability !== 'tools') };
  }

  #lacksTools({ name }: CatalogBackend, { id }: ModelRecord, caller: AskingCaller | undefined): boolean {
    return this.#memory.holds({ backend: name, model: id }, 'tools', caller?.id);
  }

  #findListed(id: string, caller: AskingCaller | undefined): FoundModel | undefined {
    return this.#findIn({ id, caller }, (backend) => (backend.isDue ? undefined : backend.records));
  }

  #findIn({ id, caller }: Sought, recordsOf: (backend: BackendModels) => BackendModels['records'] | undefined): FoundModel | undefined {
    for (const backend of this.#backends) {
      const name = nameWithin(backend.source, id);
      const records = recordsOf(backend);
      if (name === undefined || records === undefined) continue;
      const record = records.get(name) ?? records.get(withOtherTag(name));
      if (record !== undefined) return this.#toFound(backend.source, record, caller);
    }
    return undefined;
  }

  /** The same object for the same record, unless a lesson says otherwise for this caller. */
  #toFound(source: CatalogBackend, record: ModelRecord, caller: AskingCaller | undefined): FoundModel {
    if (this.#lacksTools(source, record, caller)) return this.#newFound(source, record, caller);
    const known = this.#found.get(record);
    if (known?.source === source) return known.model;
    const model = this.#newFound(source, record, caller);
    this.#found.set(record, { source, model });
    return model;
  }

  #newFound(source: CatalogBackend, record: ModelRecord, caller: AskingCaller | undefined): FoundModel {
    const listed = this.#publicRecord(source, record, caller);
    const { backend, describe, embed, fallbacks } = source;
    const contextTokens = contextTokensOf(record);
    const toolPictures = picturesForModel(source.toolPictures, record);
    return {
      record: listed,
      name: record.id,
      backend,
      nativeTools: nativeToolsOf(listed),
      lessons: this.#memory.of(source.name, record.id),
      ...(fallbacks !== undefined && { fallbacks }),
      ...(contextTokens !== undefined && { contextTokens }),
      ...(describe !== undefined && { describe: (signal) => describe(record.id, signal) }),
      ...(embed !== undefined && { embed }),
      ...(toolPictures !== undefined && { toolPictures }),
    };
  }

  /**
   * Reads the lists of the backends in `due` in parallel, and waits only until one of them has the model; backends that failed before have the lowest
   * priority.
   */
  async #findAfterRefresh({ id, caller }: Sought, due: readonly BackendModels[]): Promise<FoundModel | undefined> {
    const waiting = due.map((backend) => ({ hadFailed: backend.fault !== undefined, done: backend.refresh() }));
    for (const { done } of waiting.toSorted((one, other) => Number(one.hadFailed) - Number(other.hadFailed))) {
      await done;
      const found = this.#findListed(id, caller);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  async #findLater(id: string, signal: AbortSignal, caller: AskingCaller | undefined): Promise<FoundModel> {
    const due = this.#backends.filter(({ isDue }) => isDue);
    const found = await waitUnlessAborted(this.#findAfterRefresh({ id, caller }, due), signal);
    if (found !== undefined) return found;
    const older = this.#backends.filter(({ ageMs }) => ageMs > unknownIdAgeMs);
    const foundLater = await waitUnlessAborted(this.#findAfterRefresh({ id, caller }, older), signal);
    const known = foundLater ?? this.#findIn({ id, caller }, ({ knownRecords }) => knownRecords);
    if (known !== undefined) return known;
    throw this.#notFound(id, caller);
  }

  #notFound(id: string, caller: AskingCaller | undefined): GatewayError {
    const all = this.#listed(caller).map((record) => record.id);
    const ids = caller === undefined ? all : all.filter((listed) => isModelAllowed(caller, listed));
    const known = ids.slice(0, knownIdsInError).join(', ');
    const more = ids.length > knownIdsInError ? ` and ${ids.length - knownIdsInError} more` : '';
    const namesOf = (kind: ListFault['kind']): string[] =>
      this.#backends.filter(({ fault }) => fault?.kind === kind).map(({ source }) => source.name);
    const dead = [...namesOf('unreachable'), ...namesOf('secret_unreadable')];
    const refusing = namesOf('key_refused');
    const hints = this.#backends
      .filter(({ fault, records }) => fault === undefined && records.size === 0)
      .flatMap(({ source }) => pullHint(source, nameWithin(source, id) ?? id) ?? []);
    const sentences = [
      `The model "${id.slice(0, 200)}" is not known.`,
      ids.length > 0 ? `Known models: ${known}${more}.` : `No backend lists any model${all.length > 0 ? ' that this key may use' : ''}.`,
      ...(dead.length > 0 ? [`Backends that do not answer: ${dead.join(', ')}.`] : []),
      ...(refusing.length > 0 ? [`Backends that refuse the gateway's key: ${refusing.join(', ')}.`] : []),
      ...(dead.length + refusing.length > 0 ? ['The model may be on one of them.'] : []),
      ...hints,
    ];
    return new GatewayError('model_not_found', sentences.join(' '), { param: 'model' });
  }
}

function toSentence({ url, error }: SilentAddress): string {
  const cause = error instanceof GatewayError ? (error.cause ?? error) : error;
  return `${url}: ${cause instanceof Error ? cause.message : 'Its models cannot be listed.'}`;
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

/** A local model may be loaded with less context than it was trained for. */
const usualLocalContext = 32_768;

function contextTokensOf({ details, isLocal }: ModelRecord): number | undefined {
  const stated = statedContext(details);
  if (stated === undefined) return undefined;
  return isLocal ? Math.min(stated, usualLocalContext) : stated;
}
