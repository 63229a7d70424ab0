import { limits } from '../../core/limits.ts';
import { longestTimerMs } from '../../shared/async/timer-limits.ts';
import { modeNames } from '../../core/chat/mode-names.ts';
import {
  addressesOf,
  browserOrigin,
  credential,
  delayMs,
  flag,
  hostName,
  httpOrigin,
  httpUrl,
  httpUrlOrEmpty,
  issuerUrl,
  json,
  keyOrEmpty,
  listOf,
  modelPrices,
  oneOf,
  databaseAddress,
  templateWith,
  text,
  wholeNumber,
} from './setting-values.ts';
import { otelSettings } from './otel-settings.ts';
import type { Setting } from './setting.ts';

const noUnlimited = '; it cannot be unlimited, because every answer must end';

/**
 * Every setting: its variable (in the file mostly the same name in lower case), its field of `Config`, default, parser and meaning. The settings reader,
 * `toolwharf doctor`, `GET /api/settings` and the table in docs/configuration.md use this list.
 */
export const settingTable = {
  HOST: { field: 'host', fallback: '127.0.0.1', parse: hostName, meaning: 'address to listen on' },
  PORT: { field: 'port', fallback: '8080', parse: wholeNumber(0, 65_535), meaning: 'port to listen on; 0 takes a free one' },
  PUBLIC_URL: {
    field: 'publicUrl',
    shownDefault: 'the address it listens on',
    parse: (value) => httpUrl(text(value)),
    meaning:
      'where people and tool servers reach the gateway, with the path if a [proxy](operations.md#a-reverse-proxy-with-tls) serves it below one: links to [its pages](approvals.md#the-page), and the issuer of [session tokens](tool-credentials.md#session-tokens)',
  },
  TOOLWHARF_CONFIG: { shownDefault: './toolwharf.yaml when it exists', parse: text, meaning: 'path of the configuration file' },
  OLLAMA_BASE_URLS: {
    fallback: 'http://127.0.0.1:11434',
    parse: addressesOf(';', httpUrlOrEmpty),
    meaning: '`;`-separated Ollama servers; the default one is used when it answers',
  },
  OLLAMA_BASE_URL: { parse: addressesOf(';', httpUrlOrEmpty), meaning: 'the same, used when OLLAMA_BASE_URLS is not set' },
  OPENAI_API_BASE_URLS: {
    parse: addressesOf(';', httpUrlOrEmpty),
    meaning: '`;`-separated servers that speak the OpenAI API; an empty entry, or a key without a URL, means https://api.openai.com/v1',
  },
  OPENAI_API_KEYS: {
    parse: listOf(';', keyOrEmpty),
    isSecret: true,
    meaning: '`;`-separated keys, paired with OPENAI_API_BASE_URLS by position; an empty entry means no key',
  },
  OPENAI_API_BASE_URL: { parse: addressesOf(';', httpUrlOrEmpty), meaning: 'the same, used when OPENAI_API_BASE_URLS is not set' },
  OPENAI_API_KEY: {
    parse: listOf(';', keyOrEmpty),
    isSecret: true,
    meaning: 'the same, used when OPENAI_API_KEYS is not set',
  },
  TOOL_SERVER_CONNECTIONS: { parse: json, isSecret: true, meaning: "JSON array of tool servers in Open WebUI's shape" },
  TASK_MODEL: {
    field: 'taskModel',
    parse: text,
    meaning: 'model that selects tools, and writes titles in the console, when the chat model is local',
  },
  TASK_MODEL_EXTERNAL: { field: 'taskModelExternal', parse: text, meaning: 'the same when the chat model is external' },
  MODEL_PRICES: {
    field: 'modelPrices',
    fallback: '{}',
    parse: modelPrices,
    meaning:
      'JSON object of [prices](console.md#tokens-and-cost) by model id, in US dollars for a million tokens; an id may end with `*`: `{"gpt-5*": {"input": 1.25, "output": 10}}`',
  },
  TOOLS_FUNCTION_CALLING_PROMPT_TEMPLATE: {
    field: 'selectionTemplate',
    shownDefault: 'built in',
    parse: templateWith('{{TOOLS}}'),
    meaning: 'prompt of the tool selection, with `{{TOOLS}}` in it',
  },
  RAG_TEMPLATE: {
    field: 'ragTemplate',
    shownDefault: 'built in',
    parse: templateWith('{{CONTEXT}}'),
    meaning: 'text around files and sources for the model, with `{{CONTEXT}}` and, if wanted, `{{QUERY}}` in it',
  },
  FUNCTION_CALLING: {
    field: 'functionCalling',
    fallback: 'auto',
    parse: oneOf(modeNames),
    meaning: `default mode of choosing tools: ${modeNames.join(', ')}`,
  },
  CHAT_RESPONSE_MAX_TOOL_CALL_ITERATIONS: {
    field: 'maxToolRounds',
    fallback: String(limits.toolRounds),
    parse: wholeNumber(1, limits.maxToolRounds, noUnlimited),
    meaning: `rounds of tool calls in one answer, 1 to ${limits.maxToolRounds}`,
  },
  TOOL_TIMEOUT_MS: {
    field: 'toolTimeoutMs',
    fallback: '30000',
    parse: delayMs,
    meaning: 'time limit of one tool call; a report of progress starts it again',
  },
  TOOL_TOTAL_TIMEOUT_MS: {
    field: 'toolTotalTimeoutMs',
    fallback: '300000',
    parse: delayMs,
    meaning: 'time limit of one tool call, whatever progress it reports',
  },
  BROWSER_TOOL_TIMEOUT_MS: {
    field: 'browserToolTimeoutMs',
    fallback: '60000',
    parse: delayMs,
    meaning: "time limit of one tool call that runs in the user's browser",
  },
  APPROVAL_TIMEOUT_MS: {
    field: 'approvalTimeoutMs',
    fallback: '300000',
    parse: delayMs,
    meaning:
      "how long a user may take to approve a call or to answer a function's question over a websocket, and how long a stream of Open WebUI waits for [an approval](approvals.md#in-open-webui)",
  },
  TOOLWHARF_DATA_DIR: {
    field: 'dataDir',
    fallback: './data',
    parse: text,
    meaning: 'folder for all stored data; created when missing',
  },
  DATABASE_URL: {
    shownDefault: 'sqlite:<data dir>/toolwharf.db',
    parse: databaseAddress,
    isSecret: true,
    meaning: 'the database: `sqlite:<file>`, or `postgres://user:password@host/database` ([PostgreSQL](operations.md#postgresql))',
  },
  CONSOLE_CHATS: {
    field: 'consoleChats',
    fallback: 'false',
    parse: flag,
    meaning:
      '`true`: [chats of the console](console.md#chats-on-the-server) are stored encrypted on the server, for the caller alone, and are the same in all of their browsers',
  },
  STORE_CHATS: {
    field: 'storeChats',
    fallback: 'false',
    parse: flag,
    meaning:
      '`true`: chats sent with `"store": true` are stored for 30 days and can be searched by the function `search_chats`; ' +
      'responses are stored unless they are sent with `"store": false`',
  },
  RECORD_PROMPTS: {
    field: 'recordPrompts',
    fallback: 'false',
    parse: flag,
    meaning: '`true`: the log of runs stores the full text of prompts and answers, encrypted, for 24 hours',
  },
  TOOLWHARF_ADMIN_KEY: {
    field: 'adminKey',
    parse: credential(1),
    isSecret: true,
    meaning: 'an administrator key of your own choice, which is never stored',
  },
  OIDC_ISSUER: {
    inFile: 'auth.oidc.issuer',
    parse: issuerUrl,
    meaning: 'issuer URL of an OpenID provider whose [tokens](#sign-in-with-openid-connect) are accepted, exactly as in their `iss` claim',
  },
  OIDC_AUDIENCE: {
    inFile: 'auth.oidc.audience',
    parse: text,
    meaning: 'what `aud` of these tokens must be or contain: the name of this API at the provider',
  },
  OIDC_CLIENT_ID: {
    inFile: 'auth.oidc.client_id',
    parse: credential(1),
    meaning: 'the id of the gateway as a client at the provider; if set, people can [sign in to the console](#signing-in-to-the-console)',
  },
  OIDC_CLIENT_SECRET: {
    inFile: 'auth.oidc.client_secret',
    parse: credential(1),
    isSecret: true,
    meaning: 'the secret of that client, if the provider gives one',
  },
  OIDC_SCOPES: {
    inFile: 'auth.oidc.scopes',
    fallback: 'openid profile email',
    parse: listOf(' ', text),
    meaning: 'space-separated scopes to request at sign-in; change it if your provider uses scopes to decide which API a token is for',
  },
  MCP_OAUTH_ISSUER: {
    field: 'mcpOauthIssuer',
    shownDefault: 'the gateway itself, if `PUBLIC_URL` is set',
    parse: issuerUrl,
    meaning:
      'another authorization server whose access tokens [`/mcp`](mcp.md#programs-that-sign-in) accepts, exactly as its tokens name it; their audience must be `<PUBLIC_URL>/mcp`',
  },
  METRICS_KEY: {
    field: 'metricsKey',
    parse: credential(16),
    isSecret: true,
    meaning: 'a key that can only read [`GET /metrics`](operations.md#metrics); administrators can use their own; at least 16 characters',
  },
  TOOLWHARF_SECRET: {
    field: 'secret',
    shownDefault: 'generated into the data folder',
    parse: credential(16),
    isSecret: true,
    meaning: 'encrypts and signs [what is stored and handed out](security.md#the-secret); at least 16 characters',
  },
  TOOLWHARF_DEMO: {
    field: 'demo',
    shownDefault: 'while nothing else is configured',
    parse: flag,
    meaning:
      '`true`: the `demo` model and the bundled tool server `time` are there; `false`: neither. By default the model is listed until a backend is configured, and the server is registered at a first start without tool servers',
  },
  TOOL_SERVER_EGRESS: {
    fallback: 'public',
    parse: oneOf(['public', 'any', 'none']),
    meaning:
      'which addresses are allowed for tool servers that a request supplies: `public`, `any` or `none`; see [egress](security.md#egress)',
  },
  TOOL_SERVER_ALLOW: {
    parse: addressesOf(',', httpOrigin),
    meaning: 'comma-separated origins that tool servers of a request may always have',
  },
  CORS_ALLOW_ORIGIN: {
    shownDefault: 'same origin only',
    parse: addressesOf(';', browserOrigin),
    meaning: '`;`-separated origins of pages that may use the gateway, or `*`',
  },
  UPSTREAM_FIRST_BYTE_TIMEOUT_MS: {
    field: 'firstByteTimeoutMs',
    fallback: '120000',
    parse: delayMs,
    meaning: 'how long a backend may take to begin its answer',
  },
  UPSTREAM_IDLE_TIMEOUT_MS: {
    field: 'idleTimeoutMs',
    fallback: '60000',
    parse: delayMs,
    meaning: 'how long a backend may pause within its answer',
  },
  UPSTREAM_MAX_CONNECTIONS: {
    field: 'maxConnectionsPerOrigin',
    fallback: String(limits.connectionsPerOrigin),
    parse: wholeNumber(1, 65_535),
    meaning:
      'connections to one backend or tool server; further requests wait for one, and callers take turns. No single key can use them all: 1/64 is reserved for other keys',
  },
  CLIENT_STALL_TIMEOUT_MS: {
    field: 'clientStallTimeoutMs',
    fallback: '30000',
    parse: delayMs,
    meaning: 'how long a client may go without reading any of its answer',
  },
  DRAIN_TIMEOUT_MS: {
    field: 'drainTimeoutMs',
    fallback: '25000',
    parse: wholeNumber(0, longestTimerMs),
    meaning: 'how long running answers may take to finish after SIGTERM',
  },
  WS_PING_INTERVAL_MS: {
    field: 'wsPingIntervalMs',
    fallback: '25000',
    parse: delayMs,
    meaning: 'how often websockets are pinged, to find those that are half open',
  },
  BODY_LIMIT_BYTES: {
    field: 'bodyLimitBytes',
    fallback: String(limits.bodyBytes),
    parse: wholeNumber(1024, 2 ** 30),
    meaning: 'largest request body (10 MiB)',
  },
  LOG_LEVEL: {
    field: 'logLevel',
    fallback: 'info',
    parse: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
    meaning: 'trace, debug, info, warn, error, fatal or silent',
  },
  ...otelSettings,
  LOG_FORMAT: { shownDefault: 'json (pretty on a terminal)', parse: oneOf(['json', 'pretty']), meaning: '`json` or `pretty`' },
} as const satisfies Record<string, Setting<unknown>>;

export type SettingName = keyof typeof settingTable;

/** The table as docs/configuration.md shows it. */
export const settings: readonly { name: SettingName; default: string; meaning: string }[] = settingNames().map((name) => {
  const setting: Setting<unknown> = settingTable[name];
  return { name, default: setting.shownDefault ?? setting.fallback ?? '–', meaning: setting.meaning };
});

/** The name of a setting in the file. */
export function nameInFile(name: SettingName): string {
  const { inFile }: Setting<unknown> = settingTable[name];
  return inFile ?? name.toLowerCase();
}

export function settingNames(): SettingName[] {
  return Object.keys(settingTable) as SettingName[];
}
