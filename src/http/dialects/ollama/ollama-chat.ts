import type { CallerFunction } from '../../../core/chat/chat.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import { isHiddenTask } from '../requests/is-hidden-task.ts';
import { isOpenWebUi } from '../requests/is-open-webui.ts';
import { modelParams, namesTools, toGatewayPart, withSystemParam } from '../requests/gateway-fields.ts';
import { parseFields, requireBoundedBody } from '../requests/parse-fields.ts';
import type { Dialect, ParsedRequest } from '../dialect.ts';
import { chatSchema, type OllamaTool } from './ollama-body-schema.ts';
import { ollamaErrors } from './ollama-error.ts';
import { ollamaFormat } from './ollama-wire.ts';
import { toLineOptions } from './line-options.ts';
import { namedModel } from './named-model.ts';
import { toMessages } from './to-messages.ts';
import { toParameters } from './to-parameters.ts';

/** Ollama's `POST /api/chat`. */
export const ollamaChat: Dialect = {
  name: 'ollama-chat',
  paths: ['/api/chat'],
  parse: parseOllamaChat,
  format: (options) => ollamaFormat('chat', options),
  errors: ollamaErrors,
  waitsForDecision: isOpenWebUi,
  takesAnyType: true,
};

function toCallerFunction(tool: OllamaTool): CallerFunction {
  return { name: tool.function.name, wire: { ...(tool as JsonObject), type: 'function' } };
}

/** @throws GatewayError `invalid_request` with `param` set to the first field at fault */
export function parseOllamaChat(value: unknown): ParsedRequest {
  const wire = requireBoundedBody(value, 'a JSON object with model and messages');
  const body = parseFields(chatSchema, wire);
  const { messages, seed } = toMessages(body.messages ?? []);
  const stream = body.stream ?? true;
  const isLoading = messages.length === 0;
  return {
    request: {
      ...toGatewayPart(body),
      model: namedModel(body),
      messages: withSystemParam(messages, body.params),
      stream: stream && !isLoading,
      callerFunctions: (body.tools ?? []).map(toCallerFunction),
      hostedTools: [],
      // Not Ollama's, but no client means anything else by them.
      toolChoice: wire['tool_choice'] ?? undefined,
      parallelToolCalls: body.parallel_tool_calls ?? undefined,
      parameters: { ...modelParams(wire['params']), ...toParameters(body) },
      purpose: isLoading ? 'probe' : !namesTools(body) && isHiddenTask(messages, stream) ? 'task' : 'chat',
      ...((body.tools ?? []).length > 0 && { callIdSeed: seed() }),
    },
    options: toLineOptions(body, isLoading),
    isInterrupt: body.interrupt ?? false,
  };
}
