import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { ChatRequest } from '../../../core/chat/chat.ts';
import { withDerived } from '../../../core/chat/derived-parameters.ts';
import { withOllamaOnly } from '../../../core/chat/for-ollama-only.ts';
import { invalidField } from '../../../core/errors.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import { withoutUndefined } from '../../../shared/json/without-undefined.ts';
import type { ParsedRequest } from '../dialect.ts';
import { modelParams, toGatewayPart, withSystemParam } from '../requests/gateway-fields.ts';
import { parseFields, requireBoundedBody } from '../requests/parse-fields.ts';
import { cacheMarkIn } from './cache-mark.ts';
import type { MessageOptions } from './message-answer.ts';
import { bodySchema, type Body, type CountedBody } from './messages-body-schema.ts';
import { readConversation } from './read-messages.ts';
import { readMcpServers } from './read-mcp-servers.ts';
import { readTools } from './read-tools.ts';

/** @throws GatewayError `invalid_request` with `param` set to the first field at fault */
export function parseMessagesBody(value: unknown, headers: IncomingHttpHeaders): ParsedRequest {
  const wire = requireBoundedBody(value, 'a JSON object with model, max_tokens and messages');
  const body = parseFields(bodySchema, wire);
  refuseThread(wire);
  const { messages, hasExecutedCalls, unknown } = readConversation(body);
  const { warnings: leftOutTools, ...tools } = readTools(body);
  const warnings = [...leftOutTools, ...unknown.warnings];
  const request: ChatRequest = {
    ...toGatewayPart(body),
    ...tools,
    ...readMcpServers(body),
    model: body.model,
    messages: withSystemParam(messages, body.params),
    stream: body.stream ?? false,
    hostedTools: [],
    parameters: { ...modelParams(wire['params']), ...modelParameters(body) },
    purpose: 'chat',
    ...(hasExecutedCalls && { hasExecutedCalls: true }),
    ...(showsThinking(body.thinking) && { returnsThoughts: true }),
    ...(warnings.length > 0 && { warnings }),
  };
  const options: MessageOptions = {
    showsThinking: showsThinking(body.thinking),
    showsCalls: hasMcpBeta(headers),
    stopSequences: body.stop_sequences ?? [],
  };
  return { request, options: { ...options }, isInterrupt: body.interrupt ?? false };
}

/** The tool runner of Anthropic's SDK asks for one, and sends the whole conversation when it is refused in these words (`messages-errors.ts`). */
function refuseThread({ thread }: JsonObject): void {
  if (thread === undefined || thread === null) return;
  throw invalidField('thread', 'this server holds no conversations. Send the whole conversation in messages, without thread.');
}

/** Only what backends of the OpenAI API know; most of them refuse unknown parameters. */
function modelParameters(body: Body): JsonObject {
  const { temperature, top_p, top_k, stop_sequences: stop, metadata } = body;
  const format = body.output_config?.format ?? body.output_format;
  const wanted = withoutUndefined({
    temperature: temperature ?? undefined,
    top_p: top_p ?? undefined,
    top_k: top_k ?? undefined,
    stop: stop && stop.length > 0 ? stop : undefined,
    user: metadata?.user_id ? toUser(metadata.user_id) : undefined,
    response_format: format ? { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema: format.schema } } : undefined,
  });
  const derived = withoutUndefined({ max_tokens: body.max_tokens, reasoning_effort: effortOf(body) });
  return withOllamaOnly(withDerived(wanted, derived), { ...thinkingSwitch(body), ...cacheMarkIn(body) });
}

/** OpenAI refuses longer ones. */
const longestUser = 64;

function toUser(userId: string): string {
  return userId.length <= longestUser ? userId : hash('sha256', userId);
}

/** Up to these budgets, in tokens, thinking is called low and medium; the keywords of Claude Code ask for 4,000, 10,000 and 32,000. */
const lowBudget = 4_096;
const mediumBudget = 16_384;

function effortOf({ thinking, output_config: config }: Pick<CountedBody, 'thinking' | 'output_config'>): string | undefined {
  if (thinking?.type === 'disabled') return undefined;
  if (config?.effort) return config.effort === 'max' ? 'xhigh' : config.effort;
  if (thinking?.type !== 'enabled') return undefined;
  const budget = thinking.budget_tokens ?? mediumBudget;
  return budget <= lowBudget ? 'low' : budget <= mediumBudget ? 'medium' : 'high';
}

/** Servers with OpenAI's API have no switch that all of them know; models of Ollama think unless the request turns it off. */
function thinkingSwitch({ thinking }: Pick<CountedBody, 'thinking'>): JsonObject {
  return thinking?.type === 'disabled' ? { think: false } : {};
}

function showsThinking(thinking: CountedBody['thinking']): boolean {
  return thinking !== undefined && thinking !== null && thinking.type !== 'disabled' && thinking.display !== 'omitted';
}

/** Whether the client knows the blocks of MCP calls, such as by `mcp-client-2025-11-20` in a long list. */
function hasMcpBeta(headers: IncomingHttpHeaders): boolean {
  return [headers['anthropic-beta'] ?? []]
    .flat()
    .flatMap((line) => line.split(','))
    .some((beta) => beta.trim().startsWith('mcp-client'));
}
