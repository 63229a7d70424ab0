import type { ChatMessage, TextCompletion } from '../../../core/chat/chat.ts';
import { modelParams, toGatewayPart, withSystemParam } from '../requests/gateway-fields.ts';
import { parseFields, requireBoundedBody } from '../requests/parse-fields.ts';
import type { Dialect, ParsedRequest } from '../dialect.ts';
import { generateSchema, type GenerateBody } from './ollama-body-schema.ts';
import { ollamaErrors } from './ollama-error.ts';
import { ollamaFormat } from './ollama-wire.ts';
import { toLineOptions } from './line-options.ts';
import { namedModel } from './named-model.ts';
import { toContent } from './to-messages.ts';
import { toParameters } from './to-parameters.ts';

/** Ollama's `POST /api/generate`. */
export const ollamaGenerate: Dialect = {
  name: 'ollama-generate',
  paths: ['/api/generate'],
  parse: parseOllamaGenerate,
  format: (options) => ollamaFormat('generate', options),
  errors: ollamaErrors,
  takesAnyType: true,
};

/** @throws GatewayError `invalid_request` with `param` set to the first field at fault */
function parseOllamaGenerate(value: unknown): ParsedRequest {
  const wire = requireBoundedBody(value, 'a JSON object with model and prompt');
  const body = parseFields(generateSchema, wire);
  const completion = toCompletion(body);
  const isLoading = (body.prompt ?? '') === '' && (body.suffix ?? '') === '' && (body.images ?? []).length === 0;
  const part = toGatewayPart(body);
  return {
    request: {
      ...part,
      // It has no field for calls, and editors ask it for words to insert: tools run only where the request names some.
      toolIds: completion === undefined ? (part.toolIds ?? []) : [],
      ...(completion !== undefined && { completion, toolServers: [] }),
      model: namedModel(body),
      messages: withSystemParam(toMessages(body), body.params),
      stream: (body.stream ?? true) && !isLoading,
      callerFunctions: [],
      hostedTools: [],
      toolChoice: undefined,
      parallelToolCalls: undefined,
      parameters: { ...modelParams(wire['params']), ...toParameters(body) },
      purpose: isLoading ? 'probe' : 'chat',
    },
    options: toLineOptions(body, isLoading),
    isInterrupt: body.interrupt ?? false,
  };
}

function toMessages({ system, prompt, images }: GenerateBody): ChatMessage[] {
  const question: ChatMessage = { role: 'user', content: toContent(prompt ?? '', images ?? []) };
  return system ? [{ role: 'system', content: system }, question] : [question];
}

/** A prompt that no chat can be made of: with a text that follows, or past the model's own template. */
function toCompletion(body: GenerateBody): TextCompletion | undefined {
  const { suffix, raw, template, context } = body;
  const isChat = !suffix && raw !== true && !template && (context ?? []).length === 0;
  if (isChat) return undefined;
  return {
    ...(suffix && { suffix }),
    ollama: {
      ...(raw === true && { raw }),
      ...(template && { template }),
      ...(context && context.length > 0 && { context }),
    },
  };
}
