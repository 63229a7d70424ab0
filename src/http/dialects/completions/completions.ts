import { isJsonObject, type JsonObject } from '../../../shared/json/json.ts';
import type { Dialect, ParsedRequest } from '../dialect.ts';
import { openParameters, toGatewayPart } from '../requests/gateway-fields.ts';
import { parseFields, requireBoundedBody } from '../requests/parse-fields.ts';
import { completionFormat } from './completion-lines.ts';
import { completionSchema } from './completion-schema.ts';

/** OpenAI's `POST /v1/completions`. */
export const completions: Dialect = {
  name: 'completions',
  paths: ['/v1/completions'],
  parse: parseCompletion,
  format: (options) => completionFormat(options),
};

/** @throws GatewayError `invalid_request` with `param` set to the first field at fault */
function parseCompletion(value: unknown): ParsedRequest {
  const wire = requireBoundedBody(value, 'a JSON object with model and prompt');
  const body = parseFields(completionSchema, wire);
  const [prompt = ''] = [body.prompt].flat();
  const suffix = body.suffix ?? '';
  return {
    request: {
      ...toGatewayPart(body),
      toolIds: [],
      toolServers: [],
      model: body.model,
      messages: [{ role: 'user', content: prompt }],
      stream: body.stream ?? false,
      completion: { ...(suffix !== '' && { suffix }) },
      callerFunctions: [],
      hostedTools: [],
      toolChoice: undefined,
      parallelToolCalls: undefined,
      parameters: parametersOf(wire),
      purpose: 'chat',
    },
    options: { includeUsage: body.stream_options?.['include_usage'] === true },
    isInterrupt: body.interrupt ?? false,
  };
}

function parametersOf(wire: JsonObject): JsonObject {
  const { stream_options: streamOptions } = wire;
  const parameters = openParameters(wire, ['prompt', 'suffix', 'stream_options']);
  return { ...parameters, ...(isJsonObject(streamOptions) && { stream_options: streamOptions }) };
}
