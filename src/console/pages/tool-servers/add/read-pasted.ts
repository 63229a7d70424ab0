import { toHttpUrl } from '../../../parts/forms/http-url.ts';
import { toId, toRemote } from './pasted-server.ts';
import type { PastedServer } from './pasted-server.ts';
import { readCommand, toCommandServer } from './read-command.ts';

export type Pasted =
  | { kind: 'nothing' }
  | { kind: 'servers'; servers: readonly PastedServer[] }
  /** `reason`: a sentence. */
  | { kind: 'unreadable'; reason: string };

type JsonObject = Readonly<Record<string, unknown>>;

/** A longer text is not a configuration. */
const maxCharacters = 200_000;
const maxServers = 50;
const noUrl = 'Enter an http:// or https:// URL, such as http://127.0.0.1:8000.';

/** Reads a URL, a command, or the JSON that MCP clients are configured with. */
export function readPasted(pasted: string): Pasted {
  const text = pasted.trim();
  if (text === '') return { kind: 'nothing' };
  if (text.length > maxCharacters) return { kind: 'unreadable', reason: 'This text is too long for a configuration.' };
  if (/^(?:\{|"[^"\n]*"\s*:)/.test(text)) return readConfiguration(text);
  const url = toHttpUrl(text);
  if (url !== undefined) return { kind: 'servers', servers: [{ kind: 'remote', url, headers: {} }] };
  const command = readCommand(text);
  return command === undefined ? { kind: 'unreadable', reason: noUrl } : { kind: 'servers', servers: [command] };
}

function readConfiguration(text: string): Pasted {
  const value = parseLoosely(text);
  if (value === undefined) return { kind: 'unreadable', reason: 'This JSON has a syntax error. Copy the whole configuration.' };
  if ('openapi' in value || 'swagger' in value)
    return { kind: 'unreadable', reason: 'This is an OpenAPI document. Paste the URL of the server that it describes.' };
  const entries = Object.entries(serversIn(value)).slice(0, maxServers);
  const servers = entries.flatMap(([name, entry]) => (isObject(entry) ? (toServer(name, entry) ?? []) : []));
  return servers.length === 0
    ? { kind: 'unreadable', reason: 'No MCP server was found in this JSON. Each needs a "url" or a "command".' }
    : { kind: 'servers', servers };
}

/** Claude, Cursor and most others; VS Code's `mcp.json`, and its settings; Zed. Else the servers by their names, or one server. */
function serversIn(value: JsonObject): JsonObject {
  const { mcp, mcpServers, servers, context_servers: ofZed } = value;
  const named = [mcpServers, servers, isObject(mcp) ? mcp['servers'] : undefined, ofZed].find(isObject);
  if (named !== undefined) return named;
  return isEntry(value) ? { '': value } : value;
}

function toServer(name: string, entry: JsonObject): PastedServer | undefined {
  const { args, env, cwd } = entry;
  const url = urlOf(entry);
  const id = toId(name);
  if (url !== undefined) return toRemote(id, url, isObject(entry['headers']) ? textsIn(entry['headers']) : {});
  const command = isObject(entry['command']) ? entry['command']['path'] : entry['command'];
  if (typeof command !== 'string' || command.trim() === '') return undefined;
  const list = Array.isArray(args) ? args.map(String) : undefined;
  const words = list === undefined ? readCommand(command) : undefined;
  if (words?.kind === 'remote') return { ...words, ...(id !== '' && { id }) };
  const started = { command: words?.command ?? command.trim(), args: list ?? words?.args ?? [] };
  const server = toCommandServer(started, { ...words?.env, ...(isObject(env) && textsIn(env)) });
  return {
    ...server,
    ...(id !== '' && { id }),
    ...(server.kind === 'command' && typeof cwd === 'string' && cwd !== '' && { cwd }),
  };
}

function urlOf({ url, serverUrl, httpUrl }: JsonObject): string | undefined {
  const given = [url, serverUrl, httpUrl].find((value) => typeof value === 'string');
  return typeof given === 'string' ? toHttpUrl(given) : undefined;
}

function isEntry(value: JsonObject): boolean {
  return typeof value['command'] === 'string' || urlOf(value) !== undefined;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textsIn(value: JsonObject): Record<string, string> {
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, each]) => (['string', 'number', 'boolean'].includes(typeof each) ? [[name, String(each)]] : [])),
  );
}

const strings = String.raw`"(?:\\.|[^"\\])*"`;
const comments = new RegExp(String.raw`(${strings})|//[^\n]*|/\*[^]*?\*/`, 'g');
const trailingCommas = new RegExp(String.raw`(${strings})|,(?=\s*[}\]])`, 'g');

/** JSON as people copy it: with comments, trailing commas, or without its outer braces. */
function parseLoosely(text: string): JsonObject | undefined {
  const plain = text.replaceAll(comments, '$1').replaceAll(trailingCommas, '$1').trim().replace(/,$/, '');
  for (const candidate of [plain, `{${plain}}`])
    try {
      const value: unknown = JSON.parse(candidate);
      if (isObject(value)) return value;
    } catch {
      continue;
    }
  return undefined;
}
