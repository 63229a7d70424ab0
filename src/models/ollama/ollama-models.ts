import pLimit from 'p-limit';

import { isJsonObject } from '../../shared/json.ts';
import type { JsonObject } from '../../shared/json.ts';
import type { ModelRecord, ModelRequest } from '../../core/model.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import type { ThinkingControl } from './ollama-options.ts';
import { BackendClient } from '../backend-client.ts';
import type { BackendConnection } from '../backend-client.ts';
import { requireAnswer } from './ollama-lines.ts';

/** An Ollama server, or a proxy in front of one. */
export interface OllamaConnection extends BackendConnection {
  /** For error messages; default `ollama`. */
  name?: string;
  /** The largest `num_ctx` that the gateway sets by itself, in tokens. */
  maxContext: number;
}

export function ollamaClient(connection: OllamaConnection, send: SendOutbound): BackendClient {
  return new BackendClient(connection.name ?? 'ollama', connection, send);
}

/** What `POST /api/show` says about a model, as far as the gateway needs it. */
export interface OllamaFacts {
  /** `completion`, `tools`, `vision`, `thinking`, `embedding`, …; servers before 0.6.4 say nothing. */
  capabilities: string[] | undefined;
  /** Undefined when the server says nothing about capabilities. */
  thinking: ThinkingControl | undefined;
  /** What the model was trained for, in tokens. */
  contextLength: number | undefined;
  /** `PARAMETER num_ctx` of its Modelfile. */
  defaultContext: number | undefined;
}

interface Known {
  digest: string;
  facts: OllamaFacts;
}

/** Questions about models that run at the same time: more would keep a small server from answering chats. */
const parallelShows = 4;
/** All of them together; a list without capabilities is better than none. */
const showTimeoutMs = 1_000;

/** What is known of a server's models, by name. It lives as long as the connection and is replaced when a model's digest changes. */
const knownByConnection = new WeakMap<OllamaConnection, Map<string, Known>>();

function knownOf(connection: OllamaConnection): Map<string, Known> {
  let known = knownByConnection.get(connection);
  if (known === undefined) {
    known = new Map();
    knownByConnection.set(connection, known);
  }
  return known;
}

/** What the last list learned of a model, without asking. */
export function findFacts(connection: OllamaConnection, model: string): OllamaFacts | undefined {
  const known = knownOf(connection);
  return (known.get(model) ?? known.get(`${model}:latest`))?.facts;
}

/** The facts of one model, asked for when no list has them. A server that does not answer costs a second, not the chat. */
export async function learnFacts(
  connection: OllamaConnection,
  send: SendOutbound,
  request: Pick<ModelRequest, 'model' | 'signal'>,
): Promise<OllamaFacts | undefined> {
  const known = findFacts(connection, request.model);
  if (known !== undefined) return known;
  const facts = await show(connection, send, request);
  request.signal.throwIfAborted();
  if (facts !== undefined) knownOf(connection).set(request.model, { digest: '', facts });
  return facts;
}

/**
 * Every model that a server has, with its capabilities as far as they could be learned within a second.
 * @throws GatewayError `upstream_*` when `GET /api/tags` fails; the signal's reason when aborted.
 */
export async function listOllamaModels(connection: OllamaConnection, send: SendOutbound, signal: AbortSignal): Promise<ModelRecord[]> {
  const entries = await listTags(connection, send, signal);
  const known = knownOf(connection);
  const limit = pLimit(parallelShows);
  const patience = AbortSignal.any([signal, AbortSignal.timeout(showTimeoutMs)]);
  const records = await Promise.all(entries.map((entry) => limit(() => describe(entry))));
  signal.throwIfAborted();
  const names = new Set(entries.map((entry) => entry.name));
  for (const name of known.keys()) if (!names.has(name)) known.delete(name);
  return records;

  async function describe({ name, wire }: TagEntry): Promise<ModelRecord> {
    const digest = typeof wire['digest'] === 'string' ? wire['digest'] : '';
    const before = known.get(name);
    if (before !== undefined && before.digest === digest) return toRecord(name, wire, before.facts);
    const facts = patience.aborted ? undefined : await show(connection, send, { model: name, signal: patience });
    if (facts !== undefined) known.set(name, { digest, facts });
    return toRecord(name, wire, facts);
  }
}

/** The context that a model is loaded with, in tokens (`GET /api/ps`, since 0.12); undefined when it is not loaded or the server does not say. */
export async function findLoadedContext(
  connection: OllamaConnection,
  send: SendOutbound,
  { model, signal }: Pick<ModelRequest, 'model' | 'signal'>,
): Promise<number | undefined> {
  try {
    const patience = AbortSignal.any([signal, AbortSignal.timeout(showTimeoutMs)]);
    const { models } = await read(ollamaClient(connection, send), '/api/ps', { signal: patience });
    const entries = Array.isArray(models) ? models.filter((entry) => isJsonObject(entry)) : [];
    const context = entries.find(({ name }) => name === model || name === `${model}:latest`)?.['context_length'];
    return typeof context === 'number' && context > 0 ? context : undefined;
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

function read(client: BackendClient, path: string, request: { signal: AbortSignal; body?: JsonObject }): Promise<JsonObject> {
  return client.exchange(path, request, async (response) => requireAnswer(await client.readJson(response), client));
}

/** The cure for a server without models, for the model that was asked for. */
export function ollamaPullHint(backendName: string, model: string): string {
  return `The model backend "${backendName}" answers but has no models. Run: ollama pull ${/^[\w./:-]{1,128}$/u.test(model) ? model : 'llama3.2'}`;
}

interface TagEntry {
  name: string;
  wire: JsonObject;
}

async function listTags(connection: OllamaConnection, send: SendOutbound, signal: AbortSignal): Promise<TagEntry[]> {
  const { models } = await read(ollamaClient(connection, send), '/api/tags', { signal });
  if (!Array.isArray(models)) return [];
  return models.flatMap((wire) => {
    const name = isJsonObject(wire) ? (wire['name'] ?? wire['model']) : undefined;
    return isJsonObject(wire) && typeof name === 'string' && name !== '' ? [{ name, wire }] : [];
  });
}

/** Undefined for whatever reason: the facts only refine what works without them. */
async function show(
  connection: OllamaConnection,
  send: SendOutbound,
  { model, signal }: Pick<ModelRequest, 'model' | 'signal'>,
): Promise<OllamaFacts | undefined> {
  try {
    const patience = AbortSignal.any([signal, AbortSignal.timeout(showTimeoutMs)]);
    return toFacts(await read(ollamaClient(connection, send), '/api/show', { signal: patience, body: { model } }));
  } catch {
    return undefined;
  }
}

function toFacts({ capabilities: stated, model_info: info, details, parameters }: JsonObject): OllamaFacts {
  const capabilities = Array.isArray(stated) ? stated.filter((entry) => typeof entry === 'string') : undefined;
  return {
    capabilities,
    thinking: thinkingOf(capabilities, isJsonObject(details) ? details['family'] : undefined),
    contextLength: isJsonObject(info) ? contextLengthOf(info) : undefined,
    defaultContext: typeof parameters === 'string' ? defaultContextOf(parameters) : undefined,
  };
}

/** Only gpt-oss takes levels; the rule is the server's own (server/routes.go), by the family of the model. */
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

/** `parameters` is text, one parameter a line: `num_ctx    8192`. */
function defaultContextOf(parameters: string): number | undefined {
  const digits = /^num_ctx\s+(\d{1,9})\s*$/mu.exec(parameters)?.[1];
  return digits === undefined || Number(digits) === 0 ? undefined : Number(digits);
}

function toRecord(name: string, wire: JsonObject, facts: OllamaFacts | undefined): ModelRecord {
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
