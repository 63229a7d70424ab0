import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { settings } from '../../src/app/config/config.ts';
import { GatewayError } from '../../src/core/errors.ts';
import type { ErrorCode } from '../../src/core/errors.ts';
import { limits } from '../../src/core/limits.ts';
import type { RequestPurpose } from '../../src/core/models/model-request-log.ts';
import type { EventType } from '../../src/core/chat/run-event.ts';
import type { ToolErrorCode } from '../../src/core/tools/tool.ts';
import { routeRoles } from '../../src/http/auth/route-roles.ts';
import { arrivingBodiesPerCaller, bodyPaceBytes, bodyPaceMs } from '../../src/http/body/body-pace.ts';
import { chatFields } from '../../src/http/dialects/requests/parse-fields.ts';
import { variablesLimit } from '../../src/http/dialects/requests/gateway-fields.ts';
import { readsPerMinute } from '../../src/policy/rate-limits.ts';
import { offeredFunctions, offeredTokens } from '../../src/tools/catalog/named-functions.ts';
import { chosenFunctions } from '../../src/tools/catalog/offer-tools.ts';
import { selectedAtOnce, selectedAtOnceCharacters } from '../../src/chat/modes/prompt/select-calls.ts';
import { continuationsCharacters, continuationsLimit } from '../../src/chat/suspend/continuations.ts';
import { stateLastingCharacters, stateChats } from '../../src/tools/functions/run/function-state.ts';
import { chatConfigsCharacters, chatConfigs } from '../../src/chat/config/chat-configs.ts';
import { chatsPerSession } from '../../src/http/dialects/socket/socket-chats.ts';
import { socketFramesPerSecond } from '../../src/http/dialects/socket/socket-pace.ts';
import {
  conversationMs,
  conversationMessages,
  conversationCharacters,
  conversationsCharacters,
  conversationsLimit,
} from '../../src/http/dialects/socket/kept-conversations.ts';
import { runLogMs } from '../../src/observability/prompt-log.ts';
import { loggedRunsCharacters, loggedRuns } from '../../src/observability/save-runs.ts';
import {
  recordedTextCharacters,
  recordedPromptCharacters,
  recordedRunCharacters,
  recordedPromptsCharacters,
  recordedPrompts,
} from '../../src/observability/prompt-log.ts';
import { approvalTokenMs, waitingRunsPerCaller, waitingRunsCharacters } from '../../src/chat/suspend/store-suspended-run.ts';
import { rememberedApprovalMs, rememberedApprovals } from '../../src/policy/approvals/remembered-approvals.ts';
import { transcriptMs, transcriptsCharacters, transcriptsLimit } from '../../src/chat/suspend/run-transcripts.ts';
import { storedChatsPerCaller, storedChatMs } from '../../src/storage/sql/chats.ts';
import { allPicturesCharacters, pictureCharacters } from '../../src/chat/messages/run-pictures.ts';
import { metadataEntries } from '../../src/http/dialects/chat-completions/store-completions.ts';
import { functionTokens } from '../../src/tools/catalog/cut/cut-spec.ts';

const pageNames = [
  'api',
  'approvals',
  'backends',
  'browser-tools',
  'clients',
  'configuration',
  'connecting',
  'console',
  'dialects',
  'docker',
  'functions-and-hooks',
  'mcp',
  'modes',
  'openapi-tools',
  'operations',
  'people',
  'presets',
  'runs-and-events',
  'security',
  'storage',
  'tool-calls',
  'tool-credentials',
  'troubleshooting',
] as const;
/** Variables of Open WebUI, Anthropic's programs, Ollama, Docker Compose and Node.js. */
const foreignVariables = [
  'ANTHROPIC_API_KEY',
  'ANTHROPIC_BASE_URL',
  'COMPOSE_PROFILES',
  'DEFAULT_MODEL_METADATA',
  'ENABLE_FORWARD_USER_INFO_HEADERS',
  'FORWARD_USER_INFO_HEADER_JWT_SECRET',
  'NODE_EXTRA_CA_CERTS',
  'NODE_OPTIONS',
  'OLLAMA_HOST',
  'REDIS_URL',
];
const page = (name: (typeof pageNames)[number]): string => readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8');

/** The text from a heading to the next one. */
function section(markdown: string, heading: string): string {
  const [, text = ''] = markdown.split(`## ${heading}\n`);
  return text.split(/^## /m, 1)[0] ?? '';
}

/** Words in code, of the first cells of tables or of all text. */
const inCode = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
const firstCells = (text: string): string => [...text.matchAll(/^\|([^|]*)\|/gm)].map(([, cell = '']) => cell).join(' ');

// The types make these lists complete.
const errorCodes: Record<ErrorCode, true> = {
  invalid_request: true,
  unknown_mode: true,
  unknown_tool_id: true,
  document_required: true,
  user_required: true,
  previous_response_not_found: true,
  invalid_api_key: true,
  invalid_user_token: true,
  identity_unavailable: true,
  forbidden: true,
  egress_denied: true,
  invalid_approval_token: true,
  approval_expired: true,
  model_not_found: true,
  not_found: true,
  conflict: true,
  read_only: true,
  method_not_allowed: true,
  request_timeout: true,
  payload_too_large: true,
  headers_too_large: true,
  unsupported_media_type: true,
  rate_limit_exceeded: true,
  upstream_rate_limited: true,
  upstream_rejected: true,
  context_length_exceeded: true,
  tools_unsupported: true,
  upstream_unreachable: true,
  upstream_auth_failed: true,
  upstream_invalid_response: true,
  upstream_line_too_long: true,
  upstream_incomplete: true,
  model_call_unreadable: true,
  upstream_error: true,
  upstream_timeout: true,
  tool_failed: true,
  refused_by_hook: true,
  hook_failed: true,
  run_cancelled: true,
  credential_required: true,
  storage_unavailable: true,
  server_shutting_down: true,
  overloaded: true,
  internal_error: true,
};
const toolErrorCodes: Record<ToolErrorCode, true> = {
  tool_not_found: true,
  tool_disabled: true,
  args_not_json: true,
  args_invalid: true,
  args_truncated: true,
  args_too_large: true,
  tool_timeout: true,
  tool_error: true,
  tool_internal_error: true,
  tool_cancelled: true,
  outcome_unknown: true,
  client_unavailable: true,
  client_disconnected: true,
  credential_required: true,
  approval_required: true,
  approval_rejected: true,
  approval_expired: true,
  duplicate_call_blocked: true,
  output_truncated: true,
  egress_denied: true,
  mcp_unavailable: true,
  definition_changed: true,
};
const eventTypes: Record<EventType, true> = {
  'run.start': true,
  'model.request': true,
  'model.response': true,
  selection: true,
  'tool.call': true,
  'tool.progress': true,
  'tool.result': true,
  'approval.request': true,
  'approval.response': true,
  'connect.request': true,
  'connect.response': true,
  queue: true,
  'config.update': true,
  'limit.reached': true,
  warning: true,
  'run.end': true,
};
const purposes: Record<RequestPurpose['type'], true> = {
  round: true,
  last_answer: true,
  selection_names: true,
  selection: true,
  selection_repair: true,
  answer: true,
};
const reasons: Record<NonNullable<RequestPurpose['reason']>, true> = {
  no_call_made: true,
  stop_refused: true,
  functions_refused: true,
  functions_missed: true,
  form_demanded: true,
  form_refused: true,
  request_refused: true,
  no_words: true,
  call_unreadable: true,
  address_failed: true,
  model_failed: true,
};

describe('the page on the API', () => {
  it('names every route, and none that does not exist', () => {
    const written = inCode(section(page('api'), 'All routes'))
      .flatMap((code) => code.split(', '))
      .filter((code) => /^[A-Z]+ \//.test(code));
    const asRegistered = written.map((route) =>
      route
        .replace('/api/tools/{id or name}/invoke', '/api/tools/*')
        .replace('/v1/models/{id}', '/v1/models/*')
        .replace('/console/{page}', '/console/*')
        .replaceAll(/\{(\w+)\}/g, ':$1'),
    );
    expect(asRegistered.toSorted()).toEqual(
      Object.keys(routeRoles)
        .filter((route) => route !== 'OPTIONS *')
        .toSorted(),
    );
  });

  it('names every error code once, with its status', () => {
    const rows = [...section(page('api'), 'Errors').matchAll(/^\| (\d+) \|(.*)\|$/gm)];
    const written = rows.flatMap(([, status, codes = '']) => inCode(codes).map((code) => `${status} ${code}`));
    const known = (Object.keys(errorCodes) as ErrorCode[]).map((code) => `${new GatewayError(code, '').status} ${code}`);
    expect(written.filter((entry) => /^\d+ [a-z_]+$/.test(entry)).toSorted()).toEqual(known.toSorted());
  });
});

describe('the page on runs', () => {
  const text = page('runs-and-events');

  it('has a row for every event', () => {
    const tables = firstCells(section(text, 'Events'));
    expect(inCode(tables).toSorted()).toEqual(
      [...Object.keys(eventTypes), ...Object.keys(purposes), ...Object.keys(reasons), 'purpose', 'reason'].toSorted(),
    );
  });

  it('says what every error code of tools means', () => {
    expect(inCode(firstCells(section(text, 'Error codes of tools'))).toSorted()).toEqual(Object.keys(toolErrorCodes).toSorted());
  });
});

it('the page on operations names every metric', () => {
  const source = readFileSync(new URL('../../src/observability/prometheus-metrics.ts', import.meta.url), 'utf8');
  const metrics = [...source.matchAll(/'(toolwharf_\w+)'/g)].map(([, name = '']) => name);
  expect(metrics.length).toBeGreaterThan(10);
  expect(
    inCode(firstCells(section(page('operations'), 'Metrics')))
      .filter((name) => name.startsWith('toolwharf_'))
      .toSorted(),
  ).toEqual(metrics.toSorted());
});

it('the page on runs names every code of a warning', () => {
  const pinned = readFileSync(new URL('../public-surface/codes.txt', import.meta.url), 'utf8');
  const codes = [...pinned.matchAll(/^event: (\w+)$/gm)].map(([, code = '']) => code);
  const named = new Set(['Error codes of tools', 'Warnings'].flatMap((heading) => inCode(section(page('runs-and-events'), heading))));
  expect(codes.length).toBeGreaterThan(20);
  expect(codes.filter((code) => !named.has(code) && !Object.hasOwn(errorCodes, code))).toEqual([]);
});

const thousands = (count: number): string => count.toLocaleString('en-US');
const days = (ms: number): number => ms / (24 * 60 * 60 * 1000);
const megabytes = (characters: number): string => `${characters / 1024 ** 2} MB`;

it.each<[(typeof pageNames)[number], string[]]>([
  [
    'api',
    [
      `${thousands(limits.bodyValues)} values`,
      `${thousands(limits.bodyFieldNames)} different field names`,
      `${bodyPaceBytes / 1000} kB in every ${bodyPaceMs / 1000} s`,
      `${arrivingBodiesPerCaller} for one caller`,
      `${chatFields} fields, ${thousands(limits.messages)} messages, ${limits.toolsPerRequest} functions`,
      `${limits.toolServersPerRequest} servers in \`tool_servers\` with ${thousands(limits.requestFunctions)} functions together, ${limits.mcpServersPerRequest} MCP servers in \`tools\`, ${thousands(variablesLimit)} \`variables\``,
      `| nesting | ${limits.jsonDepth} levels |`,
      `at most ${limits.maxToolRounds}.`,
      `comment every ${limits.keepAliveMs / 1000} seconds`,
      `stored for ${days(storedChatMs)} days`,
      `at most ${metadataEntries} short texts`,
      `at most ${thousands(storedChatsPerCaller)}.`,
      `may read ${readsPerMinute} lists of functions a minute`,
    ],
  ],
  ['approvals', [`for ${approvalTokenMs / 3_600_000} hours`]],
  [
    'backends',
    [
      `the ${limits.toolPictures} newest pictures of the run, each with at most ${pictureCharacters / 1e6} MB and together ${allPicturesCharacters / 1e6} MB`,
    ],
  ],
  [
    'browser-tools',
    [
      `${limits.socketsPerCaller} sockets for a caller, ${thousands(limits.socketsPerKey)} for a key with all its people, ${chatsPerSession} chats at a time for a session`,
      `${limits.socketMessagesPerMinute} chats a minute for a caller, ${socketFramesPerSecond} frames a second`,
      `${limits.socketFrameBytes / 1024 ** 2} MiB for a frame`,
      `Within ${limits.sessionGraceMs / 1000} seconds`,
      `until ${conversationMs / 3_600_000} hours after its last message. Beyond ${thousands(conversationMessages)} messages or ${conversationCharacters / 1024 ** 2} MB`,
    ],
  ],
  ['functions-and-hooks', [`at most ${limits.stateKeys} keys and ${limits.stateCharacters / 1024} kB`]],
  ['modes', [`more than ${selectedAtOnce} functions, or more than ${thousands(selectedAtOnceCharacters)} characters`]],
  [
    'openapi-tools',
    [
      `more than ${offeredFunctions} or more than ${thousands(offeredTokens)} tokens`,
      `at most ${chosenFunctions} and named ones first`,
      `more than ${thousands(functionTokens)} tokens is cut`,
    ],
  ],
  [
    'tool-calls',
    [
      `${thousands(limits.resultValues)} values`,
      `${limits.documentBytes / 1024 ** 2} MiB, ${thousands(limits.operations)} operations, ${limits.documentTimeoutMs / 1000} s to arrive`,
      `${limits.argumentsBytes / 1024} KiB a call`,
      `${limits.callsPerRound} in a round, ${limits.callsPerRun} in a run`,
    ],
  ],
  [
    'storage',
    [
      `${runLogMs / 3_600_000} hours, ${thousands(loggedRuns)} runs, ${megabytes(loggedRunsCharacters)} |`,
      `${thousands(recordedPrompts)}, ${megabytes(recordedPromptsCharacters)} |`,
      `${waitingRunsPerCaller} a caller, ${megabytes(waitingRunsCharacters)} |`,
      `${thousands(stateChats)} chats, ${megabytes(stateLastingCharacters)} |`,
      `${thousands(chatConfigs)} chats, ${megabytes(chatConfigsCharacters)} |`,
      `${rememberedApprovalMs / 3_600_000} hours, ${thousands(rememberedApprovals)} |`,
      `last message, ${thousands(conversationsLimit)}, ${megabytes(conversationsCharacters)} |`,
      `${days(transcriptMs)} days, ${thousands(transcriptsLimit)}, ${megabytes(transcriptsCharacters)} |`,
      `an hour, ${thousands(continuationsLimit)}, ${megabytes(continuationsCharacters)} |`,
    ],
  ],
  [
    'runs-and-events',
    [
      `read for ${runLogMs / 3_600_000} hours`,
      `beyond ${thousands(recordedTextCharacters)} characters and a prompt or answer beyond ${thousands(recordedPromptCharacters)} are truncated`,
      `beyond ${recordedRunCharacters / 1024 ** 2} MB for a run`,
      `${recordedPromptsCharacters / 1024 ** 2} MB at most`,
    ],
  ],
])('docs/%s.md states limits as they are', (name, statements) => {
  // Pages break their lines anywhere.
  const text = page(name).replaceAll(/\s+/g, ' ');
  expect(statements.filter((statement) => !text.includes(statement))).toEqual([]);
});

it.each(pageNames)('docs/%s.md names only settings that exist', (name) => {
  const known = new Set<string>([...settings.map((setting) => setting.name), ...foreignVariables]);
  const prose = page(name).replaceAll(/^```[\s\S]*?^```/gm, '');
  const named = inCode(prose).flatMap((code) => /^([A-Z]+(?:_[A-Z]+)+)(?:=\S*)?$/.exec(code)?.[1] ?? []);
  expect(named.filter((setting) => !known.has(setting))).toEqual([]);
});
