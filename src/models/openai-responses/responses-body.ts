import type {
  FunctionTool,
  ResponseCreateParamsBase,
  ResponseFormatTextConfig,
  ResponseIncludable,
  ResponseTextConfig,
} from 'openai/resources/responses/responses';
import type { CallerWarning } from '../../core/chat/caller-warning.ts';
import { derivedParameters } from '../../core/chat/derived-parameters.ts';
import { withoutOllamaOnly } from '../../core/chat/for-ollama-only.ts';
import type { ModelRequest } from '../../core/models/model.ts';
import { ExactNumber } from '../../shared/json/exact-number.ts';
import { isJsonObject, textIn, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { createEntryCache } from '../transport/write-body.ts';
import { toInput } from './input-items.ts';

interface ResponsesRequest {
  body: JsonObject;
  /** About parameters that the API does not have. */
  warnings: CallerWarning[];
}

type Fields = ResponseCreateParamsBase;

/** Parameters of chat completions that the API does not have, and those that refer to state at OpenAI. */
const withoutPlace = [
  'n',
  'stop',
  'seed',
  'logit_bias',
  'presence_penalty',
  'frequency_penalty',
  'modalities',
  'audio',
  'prediction',
  'web_search_options',
  'background',
  'conversation',
  'previous_response_id',
  'prompt',
] as const;
/** Members that are written from other parts of the request. */
const own = ['model', 'input', 'instructions', 'tools', 'tool_choice', 'parallel_tool_calls', 'stream', 'stream_options', 'store'];
const renamed = [
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
  'reasoning_effort',
  'verbosity',
  'response_format',
  'logprobs',
];
const merged = ['include', 'reasoning', 'text', derivedParameters];
const notPassed = new Set<string>([...withoutPlace, ...own, ...renamed, ...merged]);

/** OpenAI refuses a lower limit. */
const fewestTokens = 16;

/** Builds the body of `POST /responses`. Unknown parameters are passed on, as in chat completions. */
export function toResponsesRequest(request: ModelRequest): ResponsesRequest {
  const parameters = withoutOllamaOnly(request.parameters);
  const passed = Object.fromEntries(Object.entries(parameters).filter(([name]) => !notPassed.has(name)));
  const { limit, warnings } = toLimit(parameters);
  const fields: Fields = {
    ...toInputFields(request),
    store: false,
    stream: request.stream,
    ...limit,
    ...toReasoning(parameters),
    ...toText(parameters),
    ...toInclude(parameters),
  };
  const body = { ...passed, ...(fields as JsonObject), ...streamOptions(request), ...toToolFields(request) };
  return { body, warnings: [...warnings, ...leftOut(parameters)] };
}

function toInputFields({ model, messages }: ModelRequest): Pick<Fields, 'model' | 'instructions' | 'input'> {
  const { instructions, input } = toInput(messages);
  return { model, ...(instructions !== undefined && { instructions }), input };
}

function toLimit(parameters: JsonObject): { limit: Pick<Fields, 'max_output_tokens'>; warnings: CallerWarning[] } {
  const { max_output_tokens: output, max_completion_tokens: completion, max_tokens: tokens } = parameters;
  const wanted = output ?? completion ?? tokens;
  if (wanted === undefined || wanted === null) return { limit: {}, warnings: [] };
  if (typeof wanted !== 'number' || wanted >= fewestTokens || wanted < 1)
    return { limit: { max_output_tokens: wanted as number }, warnings: [] };
  const message = `The limit of ${wanted} tokens was raised to ${fewestTokens}, the least that OpenAI's Responses API takes.`;
  return { limit: { max_output_tokens: fewestTokens }, warnings: [{ code: 'parameter_changed', message }] };
}

/** The caller's own `reasoning` takes precedence. `summary: null` means that no summary is requested. */
function toReasoning(parameters: JsonObject): Pick<Fields, 'reasoning'> {
  const { reasoning_effort: effort } = parameters;
  const given = isJsonObject(parameters['reasoning']) ? parameters['reasoning'] : {};
  const derived = typeof effort === 'string' ? { effort, ...(effort !== 'none' && { summary: 'auto' }) } : {};
  const reasoning = Object.entries({ ...derived, ...given }).filter(([, value]) => value !== null && value !== undefined);
  return reasoning.length === 0 ? {} : { reasoning: Object.fromEntries(reasoning) };
}

function toText(parameters: JsonObject): { text?: ResponseTextConfig } {
  const { verbosity } = parameters;
  const format = toFormat(parameters['response_format']);
  const text = {
    ...(isJsonObject(parameters['text']) && parameters['text']),
    ...(typeof verbosity === 'string' && { verbosity }),
    ...(format !== undefined && { format }),
  } as ResponseTextConfig;
  return Object.keys(text).length === 0 ? {} : { text };
}

function toFormat(format: JsonValue | undefined): ResponseFormatTextConfig | undefined {
  if (!isJsonObject(format)) return undefined;
  const { json_schema: form, ...others } = format;
  return { ...others, ...(isJsonObject(form) && form) } as unknown as ResponseFormatTextConfig;
}

/** Requests encrypted reasoning, so that it can be sent back although nothing is stored. `include: null`: the model has none. */
function toInclude({ include, logprobs }: JsonObject): { include?: ResponseIncludable[] } {
  const wanted = new Set<JsonValue>(Array.isArray(include) ? include : []);
  if (include !== null) wanted.add('reasoning.encrypted_content');
  if (logprobs === true) wanted.add('message.output_text.logprobs');
  return wanted.size === 0 ? {} : { include: [...wanted] as ResponseIncludable[] };
}

/** Every response reports usage, so only the option about padding is passed on. */
function streamOptions({ stream, parameters }: ModelRequest): JsonObject {
  const options = parameters['stream_options'];
  const padding = stream && isJsonObject(options) ? options['include_obfuscation'] : undefined;
  return padding === undefined ? {} : { stream_options: { include_obfuscation: padding } };
}

function toToolFields({ tools, callerTools, toolChoice, parallelToolCalls }: ModelRequest): JsonObject {
  const entries = [...tools.map(toFunctionTool), ...callerTools.map(toCallerTool)];
  if (entries.length === 0) return {};
  return {
    ...(toolChoice !== undefined && { tool_choice: toToolChoice(toolChoice) }),
    ...(parallelToolCalls !== undefined && { parallel_tool_calls: parallelToolCalls }),
    tools: entries,
  };
}

/** Without `strict`, the API treats a function as strict, and then refuses most schemas. */
const toFunctionTool = createEntryCache(({ name, description, parameters, strict = false }) => ({
  type: 'function',
  name,
  description,
  parameters,
  strict,
}));

/** Hosted tools are passed on unchanged. */
function toCallerTool(tool: JsonObject): JsonObject {
  const { type, function: body } = tool;
  if (type !== 'function' || !isJsonObject(body)) return tool;
  const { name, description, parameters, strict } = body;
  const flat: FunctionTool = {
    type: 'function',
    name: textIn(name),
    ...(typeof description === 'string' && { description }),
    parameters: isJsonObject(parameters) ? parameters : { type: 'object', properties: {} },
    strict: strict === true,
  };
  return flat as unknown as JsonObject;
}

function toToolChoice(choice: JsonValue): JsonValue {
  if (!isJsonObject(choice)) return choice;
  const { type, function: named, allowed_tools: allowed } = choice;
  if (type === 'function' && isJsonObject(named)) return { type, name: named['name'] };
  if (type !== 'allowed_tools' || !isJsonObject(allowed)) return choice;
  const tools = Array.isArray(allowed['tools']) ? allowed['tools'].map(toToolChoice) : [];
  return { type, mode: allowed['mode'], tools };
}

function leftOut(parameters: JsonObject): CallerWarning[] {
  const names = withoutPlace.filter((name) => hasEffect(name, parameters[name]));
  return names.map((name) => ({
    code: 'parameter_left_out',
    message: `${name}: OpenAI's Responses API has no such parameter, so it was left out.`,
  }));
}

/** Many clients send parameters with their default values, which need no warning. */
function hasEffect(name: string, value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === false || value === '') return false;
  if (typeof value === 'number') return name === 'seed' || value !== (name === 'n' ? 1 : 0);
  if (name === 'modalities' && Array.isArray(value)) return value.some((modality) => modality !== 'text');
  return typeof value !== 'object' || value instanceof ExactNumber || Object.keys(value).length > 0;
}
