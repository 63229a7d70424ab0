import pLimit from 'p-limit';

import { isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import type { ModelRecord, ModelRequest } from '../../core/models/model.ts';
import type { ThinkingControl } from './ollama-options.ts';
import type { BackendClient } from '../transport/backend-client.ts';
import { requireAnswer } from './read-json-lines.ts';

/** The fields of `POST /api/show` that the gateway needs. */
export interface OllamaModelDetails {
  /** `completion`, `tools`, `vision`, `thinking`, `embedding`, …; servers before 0.6.4 say nothing. */
  capabilities: string[] | undefined;
  /** Undefined if the server does not report capabilities. */
  thinking: ThinkingControl | undefined;
  /** The context length that the model was trained for, in tokens. */
  contextLength: number | undefined;
  /** `PARAMETER num_ctx` of its Modelfile. */
  defaultContext: number | undefined;
}

interface Known {
  digest: string;
  facts: OllamaModelDetails;
}

/** Concurrent requests for model details: more would keep a small server from answering chats. */
const maxConcurrentShows = 4;
/** The time limit for all of them together; a list without capabilities is better than none. */
const showTimeoutMs = 1_000;

/** Caches what one server reports about its models. Details of a model are cached until its digest changes. */
export class OllamaModels {
  readonly #client: BackendClient;
  /** By name. */
  readonly #known = new Map<string, Known>();

  constructor(client: BackendClient) {
    this.#client = client;
  }

  /** The details that the last listing found; makes no request. */
  find(model: string): OllamaModelDetails | undefined {
    return (this.#known.get(model) ?? this.#known.get(`${model}:latest`))?.facts;
  }

  /** The details of one model, requested if no listing has them. A server that does not answer costs a second but does not fail the chat. */
  async learn({ model, signal }: Pick<ModelRequest, 'model' | 'signal'>): Promise<OllamaModelDetails | undefined> {
    const known = this.find(model);
    if (known !== undefined) return known;
    const facts = await this.#show(model, withinPatience(signal));
    signal.throwIfAborted();
    if (facts !== undefined) this.#known.set(model, { digest: '', facts });
    return facts;
  }

  /**
   * Every model of the server, with the capabilities that could be requested within a second.
   * @throws GatewayError `upstream_*` when `GET /api/tags` fails; the signal's reason when aborted
   */
  async list(signal: AbortSignal): Promise<ModelRecord[]> {
    const { models } = await this.#read('/api/tags', { signal });
    const entries = Array.isArray(models) ? models.flatMap(toEntry) : [];
    const limit = pLimit(maxConcurrentShows);
    const patience = withinPatience(signal);
    const records = await Promise.all(
      entries.map(({ name, wire }) => limit(async () => toRecord(name, wire, await this.#factsOf(name, wire, patience)))),
    );
    signal.throwIfAborted();
    const names = new Set(entries.map(({ name }) => name));
    for (const name of this.#known.keys()) if (!names.has(name)) this.#known.delete(name);
    return records;
  }

  async #factsOf(name: string, wire: JsonObject, patience: AbortSignal): Promise<OllamaModelDetails | undefined> {
    const digest = typeof wire['digest'] === 'string' ? wire['digest'] : '';
    const before = this.#known.get(name);
    if (before !== undefined && before.digest === digest) return before.facts;
    const facts = patience.aborted ? undefined : await this.#show(name, patience);
    if (facts !== undefined) this.#known.set(name, { digest, facts });
    return facts;
  }

  /**
   * The context size with which a model is loaded, in tokens (`GET /api/ps`, since 0.12); undefined if it is not loaded or the server does not report
   * it.
   */
  async loadedContext({ model, signal }: Pick<ModelRequest, 'model' | 'signal'>): Promise<number | undefined> {
    try {
      const { models } = await this.#read('/api/ps', { signal: withinPatience(signal) });
      const loaded = Array.isArray(models)
        ? models.flatMap(toEntry).find(({ name }) => name === model || name === `${model}:latest`)
        : undefined;
      const context = loaded?.wire['context_length'];
      return typeof context === 'number' && context > 0 ? context : undefined;
    } catch {
      signal.throwIfAborted();
      return undefined;
    }
  }

  /** All that the server says about a model. @throws GatewayError `upstream_*`; the signal's reason when aborted */
  describe(model: string, signal: AbortSignal): Promise<JsonObject> {
    return this.#read('/api/show', { signal, body: { model } });
  }

  /** The entries of the models that are loaded. @throws as `describe` */
  async loaded(signal: AbortSignal): Promise<{ name: string; entry: JsonObject }[]> {
    const { models } = await this.#read('/api/ps', { signal });
    return Array.isArray(models) ? models.flatMap(toEntry).map(({ name, wire }) => ({ name, entry: wire })) : [];
  }

  /** Undefined on any error: the details are optional. */
  async #show(model: string, signal: AbortSignal): Promise<OllamaModelDetails | undefined> {
    try {
      return toFacts(await this.#read('/api/show', { signal, body: { model } }));
    } catch {
      return undefined;
    }
  }

  #read(path: string, request: { signal: AbortSignal; body?: JsonObject }): Promise<JsonObject> {
    return this.#client.exchange(path, request, async (response) => requireAnswer(await this.#client.readJson(response), this.#client));
  }
}

function withinPatience(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(showTimeoutMs)]);
}

function toEntry(wire: JsonValue): { name: string; wire: JsonObject }[] {
  const name = isJsonObject(wire) ? (wire['name'] ?? wire['model']) : undefined;
  return isJsonObject(wire) && typeof name === 'string' && name !== '' ? [{ name, wire }] : [];
}

/** What to do about a server without models. */
export function ollamaPullHint(backendName: string, model: string): string {
  return `The model backend "${backendName}" answers but has no models. Run: ollama pull ${/^[\w./:-]{1,128}$/u.test(model) ? model : 'llama3.2'}`;
}

function toFacts({ capabilities: stated, model_info: info, details, parameters }: JsonObject): OllamaModelDetails {
  const capabilities = Array.isArray(stated) ? stated.filter((entry) => typeof entry === 'string') : undefined;
  return {
    capabilities,
    thinking: thinkingOf(capabilities, isJsonObject(details) ? details['family'] : undefined),
    contextLength: isJsonObject(info) ? contextLengthOf(info) : undefined,
    defaultContext: typeof parameters === 'string' ? defaultContextOf(parameters) : undefined,
  };
}

/** Only gpt-oss supports levels. The server itself decides by the model's family (server/routes.go). */
function thinkingOf(capabilities: string[] | undefined, family: unknown): ThinkingControl | undefined {
  if (family === 'gptoss' || family === 'gpt-oss') return 'levels';
  if (capabilities === undefined) return undefined;
  return capabilities.includes('thinking') ? 'switch' : 'none';
}

/** `<architecture>.context_length`, for example `llama.context_length`. */
function contextLengthOf(info: JsonObject): number | undefined {
  const entry = Object.entries(info).find(([key, value]) => key.endsWith('.context_length') && typeof value === 'number' && value > 0);
  return typeof entry?.[1] === 'number' ? entry[1] : undefined;
}

/** `parameters` is text with one parameter per line: `num_ctx    8192`. */
function defaultContextOf(parameters: string): number | undefined {
  const digits = /^num_ctx\s+(\d{1,9})\s*$/mu.exec(parameters)?.[1];
  return digits === undefined || Number(digits) === 0 ? undefined : Number(digits);
}

function toRecord(name: string, wire: JsonObject, facts: OllamaModelDetails | undefined): ModelRecord {
  const modified = typeof wire['modified_at'] === 'string' ? Date.parse(wire['modified_at']) : Number.NaN;
  return {
    id: name,
    owner: 'ollama',
    isLocal: true,
    created: Number.isNaN(modified) ? 0 : Math.floor(modified / 1000),
    capabilities: facts?.capabilities,
    details: { ...wire, ...(facts?.contextLength === undefined ? {} : { context_length: facts.contextLength }) },
  };
}
