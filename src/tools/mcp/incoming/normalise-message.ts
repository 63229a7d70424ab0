import { specTypeSchemas } from '@modelcontextprotocol/client';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { hideOutputSchema, hideStructure } from './hidden-fields.ts';
import { normaliseBlock, normaliseBlocks } from './normalise-content.ts';
import { hideTask } from './hidden-task.ts';
import { fitted } from './fit-schema.ts';
import { toObjectSchema } from './object-schema.ts';

/** Members of a JSON-RPC message; a server's further ones mean nothing to the protocol. */
const envelope = ['jsonrpc', 'id', 'method', 'params', 'result', 'error'] as const;

/** What may hold any JSON, in which null is a value like any other. */
const freeMembers: ReadonlySet<string> = new Set([
  'structuredContent',
  'inputSchema',
  'input_schema',
  'outputSchema',
  'requestedSchema',
  'arguments',
  'data',
]);

const internalError = -32_603;

/**
 * A message as the SDK accepts it. Servers write null for what is not set, leave required members out, and add ones that the protocol does not have; the
 * SDK refuses the whole message for each of these. An optional member that is not valid is left out, so it costs nothing but itself. What lacks something
 * that the gateway cannot supply, such as the name of a tool, stays as it is and is refused later, alone.
 */
export function normaliseMessage(message: unknown): unknown {
  if (Array.isArray(message)) return message.map(normaliseMessage);
  if (!isJsonObject(message)) return message;
  const picked = Object.fromEntries(envelope.filter((key) => isSet(message[key])).map((key) => [key, message[key]]));
  if (typeof picked['method'] === 'string') {
    const { method, params } = picked;
    return {
      ...withoutOutcome(picked),
      jsonrpc: '2.0',
      ...(isJsonObject(params) && { params: normaliseParams(method, withoutNulls(params)) }),
    };
  }
  if ('error' in picked && !isJsonObject(picked['result']))
    return { ...picked, jsonrpc: '2.0', error: normaliseError(picked['error'] ?? null) };
  if (!('id' in picked)) return picked;
  const { error: _error, result = {}, ...rest } = picked;
  return { ...rest, jsonrpc: '2.0', result: isJsonObject(result) ? normaliseResult(withoutNulls(result)) : {} };
}

function isSet(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null;
}

function withoutOutcome({ result: _result, error: _error, ...rest }: JsonObject): JsonObject {
  return rest;
}

function normaliseError(error: JsonValue): JsonObject {
  const { code, message, ...rest } = isJsonObject(error) ? error : { message: error };
  const number = Number(code ?? Number.NaN);
  const text = typeof message === 'string' ? message : isSet(message) ? JSON.stringify(message) : 'The server does not say what is wrong.';
  return { ...rest, code: Number.isInteger(number) ? number : internalError, message: text };
}

/** In lists null stays: what it means depends on the list. Of `_meta`, whose members are the servers' own, only the first level is read. */
function withoutNulls(value: JsonObject): JsonObject {
  const kept = Object.entries(value).filter(([, child]) => isSet(child));
  return Object.fromEntries(
    kept.map(([key, child]) => {
      if (freeMembers.has(key)) return [key, child ?? null];
      if (key === '_meta') return [key, isJsonObject(child) ? withoutNullMembers(child) : (child ?? null)];
      return [key, withoutNullsWithin(child ?? null)];
    }),
  );
}

function withoutNullsWithin(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutNullsWithin);
  return isJsonObject(value) ? withoutNulls(value) : value;
}

function withoutNullMembers(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([, child]) => isSet(child)));
}

function normaliseParams(method: string, params: JsonObject): JsonObject {
  return method === 'notifications/progress' ? fitted(specTypeSchemas.ProgressNotificationParams, withNumbers(params)) : params;
}

function withNumbers(params: JsonObject): JsonObject {
  const numbers = ['progress', 'total'].flatMap((key) => {
    const value = params[key];
    return typeof value === 'string' && value.trim() !== '' && Number.isFinite(Number(value)) ? [[key, Number(value)]] : [];
  });
  return { ...params, ...(Object.fromEntries(numbers) as JsonObject) };
}

/** Results of the version of 2026 say what they are, but some servers leave it out where it is complete. Older versions ignore it. */
function normaliseResult(given: JsonObject): JsonObject {
  const result: JsonObject = { ...given, resultType: typeof given['resultType'] === 'string' ? given['resultType'] : 'complete' };
  if ('_meta' in result && !isJsonObject(result['_meta'])) delete result['_meta'];
  for (const cursor of ['nextCursor', 'instructions']) if (cursor in result && typeof result[cursor] !== 'string') delete result[cursor];
  if ('capabilities' in result || 'serverInfo' in result) introduce(result);
  if (cacheable.some((key) => Array.isArray(result[key]))) requireCaching(result);
  normaliseList(result, 'tools', normaliseTool);
  normaliseList(result, 'resources', (entry) => fitted(specTypeSchemas.Resource, named(entry, 'uri')));
  normaliseList(result, 'resourceTemplates', (entry) => fitted(specTypeSchemas.ResourceTemplate, named(entry, 'uriTemplate')));
  normaliseList(result, 'prompts', (entry) => fitted(specTypeSchemas.Prompt, entry));
  normaliseList(result, 'contents', normaliseContents);
  normaliseList(result, 'messages', (message) => ({ ...message, content: normaliseBlock(message['content'] ?? null) }));
  const task = hideTask(result);
  if (task !== undefined) return task;
  // The result of a task, within what is known of it.
  const { status, result: ofTask } = result;
  if (status === 'completed' && isJsonObject(ofTask)) result['result'] = normaliseCallResult(ofTask);
  const isOfCall = 'content' in result || 'structuredContent' in result || 'isError' in result;
  return isOfCall ? normaliseCallResult(result) : result;
}

const cacheable = ['tools', 'resources', 'resourceTemplates', 'prompts', 'contents'] as const;

/** Required in the version of 2026, but unused here: lists are always read again. */
function requireCaching(result: JsonObject): void {
  const { ttlMs, cacheScope } = result;
  if (typeof ttlMs !== 'number' || !Number.isSafeInteger(ttlMs) || ttlMs < 0) result['ttlMs'] = 0;
  if (cacheScope !== 'public' && cacheScope !== 'private') result['cacheScope'] = 'private';
}

function normaliseList(result: JsonObject, key: string, normalise: (entry: JsonObject) => JsonObject): void {
  const entries = result[key];
  if (Array.isArray(entries)) result[key] = entries.map((entry) => (isJsonObject(entry) ? normalise(entry) : entry));
}

/** The answer to `initialize` and `server/discover`. */
function introduce(result: JsonObject): void {
  const { capabilities, serverInfo } = result;
  const known = isJsonObject(capabilities) ? Object.entries(capabilities) : [];
  const had = known.flatMap(([name, value]) => (value === false ? [] : [[name, isJsonObject(value) ? value : {}] as const]));
  result['capabilities'] = fitted(specTypeSchemas.ServerCapabilities, Object.fromEntries(had));
  const info = isJsonObject(serverInfo) ? serverInfo : {};
  const texts = { name: textIn(info['name']), version: textIn(info['version']) };
  if ('serverInfo' in result) result['serverInfo'] = fitted(specTypeSchemas.Implementation, { ...info, ...texts });
}

function textIn(value: JsonValue | undefined): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

function normaliseTool(tool: JsonObject): JsonObject {
  const { input_schema: olderName, inputSchema = olderName, ...rest } = tool;
  const { annotations } = rest;
  const given = {
    ...rest,
    inputSchema: toObjectSchema(inputSchema),
    ...(isJsonObject(annotations) && { annotations: withBooleans(annotations) }),
  };
  return fitted(specTypeSchemas.Tool, hideOutputSchema(given));
}

/** Hints decide what may run without a question, so their texts count too. */
function withBooleans(annotations: JsonObject): JsonObject {
  const entries = Object.entries(annotations).map(([key, value]) => [key, key.endsWith('Hint') ? (toBoolean(value) ?? null) : value]);
  return withoutNullMembers(Object.fromEntries(entries) as JsonObject);
}

function toBoolean(value: JsonValue | undefined): boolean | undefined {
  if (typeof value === 'boolean') return value;
  return value === 'true' ? true : value === 'false' ? false : undefined;
}

/** A resource without a name has the last part of its address. */
function named(entry: JsonObject, address: string): JsonObject {
  const uri = entry[address];
  return typeof entry['name'] === 'string' || typeof uri !== 'string'
    ? entry
    : { ...entry, name: uri.split('/').findLast((part) => part !== '') ?? uri };
}

function normaliseContents(entry: JsonObject): JsonObject {
  const { resource } = normaliseBlock({ type: 'resource', resource: entry });
  return isJsonObject(resource) ? resource : { uri: textIn(entry['uri']), text: '' };
}

function normaliseCallResult({ content, isError, ...rest }: JsonObject): JsonObject {
  const failed = toBoolean(isError);
  return hideStructure({ ...rest, content: normaliseBlocks(content), ...(failed !== undefined && { isError: failed }) });
}
