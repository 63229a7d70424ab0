import { createBackend } from '../../../../src/app/compose/create-backend.ts';
import type { BackendKind } from '../../../../src/core/models/backend-config.ts';
import type { ToolCall } from '../../../../src/core/chat/chat.ts';
import type { OutboundRequest, OutboundResponse, SendOutbound } from '../../../../src/core/outbound.ts';
import type { CatalogBackend } from '../../../../src/models/catalog/catalog-backend.ts';
import { RefusalMemory } from '../../../../src/models/remedies/refusal-memory.ts';
import type { JsonObject, JsonValue } from '../../../../src/shared/json/json.ts';
import { outboundBody } from '../../../_support/outbound-body.ts';
import type { ScriptStep } from '../../../_support/scripted-model.ts';
import { objectsIn, textIn } from './chat.ts';

/** A turn of a script, taken apart for those who write it into a wire format. */
interface SaidTurn {
  reasoning: string[];
  texts: string[];
  calls: ToolCall[];
  tokens: { in: number; out: number };
  finish: string;
}

/** What a backend was asked, in nobody's wire format. */
export interface AskedPlainly {
  messages: { role: string; text: string; images: JsonValue[]; calls: { name: string; args: JsonValue }[] }[];
  tools: JsonValue[];
  choice: JsonValue;
  tokens: JsonValue;
  temperature: JsonValue;
  schema: JsonValue;
}

/** How a server of one kind answers, and how a request to it is read. */
interface WireFormat {
  /** The end of the path of its chats. */
  path: string;
  type: 'text/event-stream' | 'application/x-ndjson';
  write(said: SaidTurn): JsonObject;
  stream(said: SaidTurn): string[];
  read(body: JsonObject): AskedPlainly;
}

/** A server of models of one kind behind the gateway, which follows a script. */
export interface WireBackend {
  backend: CatalogBackend;
  asked: AskedPlainly[];
}

export function wireBackendOf(kind: BackendKind, turns: ScriptStep[][]): WireBackend {
  const format = formats[kind];
  const asked: AskedPlainly[] = [];
  const left = [...turns];
  const send: SendOutbound = async ({ url, body }: OutboundRequest) => {
    if (!url.endsWith(format.path)) return answer(200, 'application/json', [JSON.stringify(aboutModel)]);
    const wire = JSON.parse(await textOfBody(body)) as JsonObject;
    asked.push(format.read(wire));
    const turn = left.shift() ?? [];
    const fault = turn.find((step) => step instanceof Error);
    if (fault !== undefined) {
      const error = { type: 'rate_limit_error', message: fault.message };
      return answer(429, 'application/json', [JSON.stringify({ type: 'error', error })], { 'retry-after': '7' });
    }
    const said = toSaid(turn);
    if (wire['stream'] === true) return answer(200, format.type, format.stream(said));
    return answer(200, 'application/json', [JSON.stringify(format.write(said))]);
  };
  const url = kind === 'ollama' ? 'http://models.test' : 'http://models.test/v1';
  const entry = {
    kind,
    url,
    name: kind,
    key: 'a key',
    headers: {},
    maxContext: 32_768,
    isExplicit: true,
    urls: [url],
    origin: 'file',
  } as const;
  const timeouts = { firstByteTimeoutMs: 60_000, idleTimeoutMs: 60_000 };
  const { backend } = createBackend(entry, timeouts, { send, memory: new RefusalMemory(() => 0), elapsed: () => 0 });
  const model = {
    id: 'model',
    owner: kind,
    isLocal: false,
    created: 0,
    capabilities: ['completion', 'tools', 'vision', 'thinking'],
    details: {},
  };
  return { backend: { ...backend, list: async () => [model] }, asked };
}

/** What an Ollama says about its model, and of loaded ones. */
const aboutModel = { capabilities: ['completion', 'tools', 'vision', 'thinking'], model_info: {}, models: [], data: [] };

function answer(status: number, type: string, pieces: string[], headers: Record<string, string> = {}): OutboundResponse {
  async function* read(): AsyncGenerator<Uint8Array> {
    for (const piece of pieces) yield new TextEncoder().encode(piece);
  }
  return { status, headers: { 'content-type': type, ...headers }, body: outboundBody(read()) };
}

async function textOfBody(body: OutboundRequest['body']): Promise<string> {
  if (body === undefined || typeof body === 'string') return body ?? '';
  if (body instanceof Uint8Array) return Buffer.from(body).toString();
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

function toSaid(turn: readonly ScriptStep[]): SaidTurn {
  const said: SaidTurn = { reasoning: [], texts: [], calls: [], tokens: { in: 0, out: 0 }, finish: 'stop' };
  for (const step of turn) {
    if (step instanceof Error || step instanceof Promise) continue;
    if (step.type === 'reasoning') said.reasoning.push(step.text);
    if (step.type === 'text') said.texts.push(step.text);
    if (step.type === 'tool-call') said.calls.push(step.call);
    if (step.type === 'usage') said.tokens = { in: step.usage.prompt_tokens, out: step.usage.completion_tokens };
    if (step.type === 'finish') said.finish = step.reason;
  }
  return said;
}

const head = { id: 'answer_1', created: 1, model: 'model' };
const line = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`;
const event = (data: JsonObject): string => `event: ${textIn(data['type'])}\n${line(data)}`;
const readable = (args: unknown): JsonValue => {
  if (typeof args !== 'string') return (args ?? {}) as JsonValue;
  try {
    return JSON.parse(args) as JsonValue;
  } catch {
    return {};
  }
};
const partsOf = (content: unknown): JsonObject[] => (typeof content === 'string' ? [{ type: 'text', text: content }] : objectsIn(content));
const textsOf = (content: unknown): string =>
  partsOf(content)
    .flatMap(({ text }) => (typeof text === 'string' ? [text] : []))
    .join('\n');
const named = (name: JsonValue | undefined): JsonObject => ({ type: 'function', function: { name: name ?? null } });
/** The schema of a function's parameters or of an answer is compared elsewhere; here only which ones there are. */
const nameIn = (tool: JsonObject): JsonValue => (tool['function'] as JsonObject | undefined)?.['name'] ?? tool['name'] ?? null;

const chat: WireFormat = {
  path: '/chat/completions',
  type: 'text/event-stream',
  write: ({ reasoning, texts, calls, tokens, finish }) => ({
    ...head,
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: texts.join('') || null,
          ...(reasoning.length > 0 && { reasoning_content: reasoning.join('') }),
          ...(calls.length > 0 && { tool_calls: calls.map(toChatCall) }),
        },
        finish_reason: finish,
      },
    ],
    usage: { prompt_tokens: tokens.in, completion_tokens: tokens.out, total_tokens: tokens.in + tokens.out },
  }),
  stream({ reasoning, texts, calls, tokens, finish }) {
    const chunk = (delta: JsonObject, reason: string | null = null): string =>
      line({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: reason }] });
    const usage = { prompt_tokens: tokens.in, completion_tokens: tokens.out, total_tokens: tokens.in + tokens.out };
    return [
      chunk({ role: 'assistant', content: '' }),
      ...reasoning.map((text) => chunk({ reasoning_content: text })),
      ...texts.map((text) => chunk({ content: text })),
      ...calls.map((call, index) => chunk({ tool_calls: [{ index, ...toChatCall(call) }] })),
      chunk({}, finish),
      line({ ...head, object: 'chat.completion.chunk', choices: [], usage }),
      'data: [DONE]\n\n',
    ];
  },
  read: ({ messages, tools, tool_choice: choice, response_format: format, ...body }) => ({
    messages: objectsIn(messages).map(({ role, content, tool_calls: calls }) => ({
      role: textIn(role),
      text: textsOf(content),
      images: partsOf(content).flatMap((part) => (part['image_url'] as { url?: string } | undefined)?.url ?? []),
      calls: objectsIn(calls).map((call) => {
        const { name = null, arguments: args } = call['function'] as JsonObject;
        return { name: textIn(name), args: readable(args) };
      }),
    })),
    tools: objectsIn(tools).map(nameIn),
    choice: choice ?? null,
    tokens: body['max_tokens'] ?? body['max_completion_tokens'] ?? null,
    temperature: body['temperature'] ?? null,
    schema: ((format as JsonObject | undefined)?.['json_schema'] as JsonObject | undefined)?.['schema'] ?? null,
  }),
};

function toChatCall({ id, name, arguments: args }: ToolCall): JsonObject {
  return { id, type: 'function', function: { name, arguments: args } };
}

const responses: WireFormat = {
  path: '/responses',
  type: 'text/event-stream',
  write({ reasoning, texts, calls, tokens, finish }) {
    const message = { type: 'message', id: 'msg_1', status: 'completed', role: 'assistant' };
    const output: JsonObject[] = [
      ...(reasoning.length === 0 ? [] : [{ type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: reasoning.join('') }] }]),
      ...(texts.length === 0 ? [] : [{ ...message, content: [{ type: 'output_text', text: texts.join(''), annotations: [] }] }]),
      ...calls.map(({ id, name, arguments: args }, index) => {
        return { type: 'function_call', id: `fc_${index}`, call_id: id, name, arguments: args, status: 'completed' };
      }),
    ];
    const isCut = finish === 'length';
    return {
      id: 'resp_1',
      object: 'response',
      created_at: 1,
      model: 'model',
      status: isCut ? 'incomplete' : 'completed',
      incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
      error: null,
      output,
      usage: { input_tokens: tokens.in, output_tokens: tokens.out, total_tokens: tokens.in + tokens.out },
    };
  },
  stream(said) {
    const whole = responses.write(said);
    let count = 0;
    const numbered = (data: JsonObject): string => event({ ...data, sequence_number: count++ });
    const items = objectsIn(whole['output']).flatMap((item, index) => [
      numbered({ type: 'response.output_item.added', output_index: index, item: opened(item) }),
      ...deltasOf(item, said).map((data) => numbered({ ...data, item_id: item['id'] ?? '', output_index: index })),
      numbered({ type: 'response.output_item.done', output_index: index, item }),
    ]);
    const running = { ...whole, status: 'in_progress', output: [], usage: null, incomplete_details: null };
    return [
      numbered({ type: 'response.created', response: running }),
      numbered({ type: 'response.in_progress', response: running }),
      ...items,
      numbered({ type: said.finish === 'length' ? 'response.incomplete' : 'response.completed', response: whole }),
    ];
  },
  read: ({ instructions, input, tools, tool_choice: choice, text, ...body }) => ({
    messages: [
      ...(typeof instructions === 'string' ? [{ role: 'system', text: instructions, images: [], calls: [] }] : []),
      ...objectsIn(input).reduce<AskedPlainly['messages']>(addItem, []),
    ],
    tools: objectsIn(tools).map(nameIn),
    choice: typeof choice === 'object' && choice !== null ? named((choice as JsonObject)['name']) : (choice ?? null),
    tokens: body['max_output_tokens'] ?? null,
    temperature: body['temperature'] ?? null,
    schema: ((text as JsonObject | undefined)?.['format'] as JsonObject | undefined)?.['schema'] ?? null,
  }),
};

function opened(item: JsonObject): JsonObject {
  if (item['type'] === 'message') return { ...item, status: 'in_progress', content: [] };
  return item['type'] === 'reasoning' ? { ...item, summary: [] } : { ...item, status: 'in_progress', arguments: '' };
}

function deltasOf(item: JsonObject, { reasoning, texts }: SaidTurn): JsonObject[] {
  switch (textIn(item['type'])) {
    case 'reasoning':
      return [
        { type: 'response.reasoning_summary_part.added', summary_index: 0, part: { type: 'summary_text', text: '' } },
        ...reasoning.map((delta) => ({ type: 'response.reasoning_summary_text.delta', summary_index: 0, delta })),
        { type: 'response.reasoning_summary_text.done', summary_index: 0, text: reasoning.join('') },
        { type: 'response.reasoning_summary_part.done', summary_index: 0, part: { type: 'summary_text', text: reasoning.join('') } },
      ];
    case 'message':
      return [
        { type: 'response.content_part.added', content_index: 0, part: { type: 'output_text', text: '', annotations: [] } },
        ...texts.map((delta) => ({ type: 'response.output_text.delta', content_index: 0, delta, logprobs: [] })),
        { type: 'response.output_text.done', content_index: 0, text: texts.join(''), logprobs: [] },
        { type: 'response.content_part.done', content_index: 0, part: { type: 'output_text', text: texts.join(''), annotations: [] } },
      ];
    default: {
      const args = textIn(item['arguments']);
      const middle = Math.floor(args.length / 2);
      return [
        { type: 'response.function_call_arguments.delta', delta: args.slice(0, middle) },
        { type: 'response.function_call_arguments.delta', delta: args.slice(middle) },
        { type: 'response.function_call_arguments.done', arguments: args },
      ];
    }
  }
}

function addItem(all: AskedPlainly['messages'], item: JsonObject): AskedPlainly['messages'] {
  const last = all.at(-1);
  if (item['type'] === 'reasoning') return all;
  if (item['type'] === 'function_call') {
    const call = { name: textIn(item['name']), args: readable(item['arguments']) };
    if (last?.role === 'assistant') return [...all.slice(0, -1), { ...last, calls: [...last.calls, call] }];
    return [...all, { role: 'assistant', text: '', images: [], calls: [call] }];
  }
  if (item['type'] === 'function_call_output') return [...all, { role: 'tool', text: textsOf(item['output']), images: [], calls: [] }];
  const images = partsOf(item['content']).flatMap(({ image_url: url }) => (typeof url === 'string' ? [url] : []));
  return [...all, { role: textIn(item['role']), text: textsOf(item['content']), images, calls: [] }];
}

const anthropic: WireFormat = {
  path: '/messages',
  type: 'text/event-stream',
  write: (said) => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'model',
    content: blocksOf(said),
    stop_reason: stopReasons[said.finish] ?? said.finish,
    stop_sequence: null,
    usage: { input_tokens: said.tokens.in, output_tokens: said.tokens.out },
  }),
  stream(said) {
    const whole = anthropic.write(said);
    const blocks = objectsIn(whole['content']).flatMap((block, index) => [
      event({ type: 'content_block_start', index, content_block: openedBlock(block) }),
      ...deltasOfBlock(block, said).map((delta) => event({ type: 'content_block_delta', index, delta })),
      event({ type: 'content_block_stop', index }),
    ]);
    const start = { ...whole, content: [], stop_reason: null, usage: { input_tokens: said.tokens.in, output_tokens: 0 } };
    return [
      event({ type: 'message_start', message: start }),
      event({ type: 'ping' }),
      ...blocks,
      event({
        type: 'message_delta',
        delta: { stop_reason: whole['stop_reason'] ?? null, stop_sequence: null },
        usage: { output_tokens: said.tokens.out },
      }),
      event({ type: 'message_stop' }),
    ];
  },
  read: ({ system, messages, tools, tool_choice: choice, output_config: output, ...body }) => ({
    messages: [
      ...(system === undefined ? [] : [{ role: 'system', text: textsOf(system), images: [], calls: [] }]),
      ...objectsIn(messages).flatMap(fromAnthropic),
    ],
    tools: objectsIn(tools).map(nameIn),
    choice: fromAnthropicChoice((choice ?? {}) as JsonObject),
    // Every request has to name a maximum; this one stands for none.
    tokens: body['max_tokens'] === 8_192 ? null : (body['max_tokens'] ?? null),
    temperature: body['temperature'] ?? null,
    schema: ((output as JsonObject | undefined)?.['format'] as JsonObject | undefined)?.['schema'] ?? null,
  }),
};

const stopReasons: Record<string, string> = { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use' };

function blocksOf({ reasoning, texts, calls }: SaidTurn): JsonObject[] {
  return [
    ...(reasoning.length === 0 ? [] : [{ type: 'thinking', thinking: reasoning.join(''), signature: 'c2ln' }]),
    ...(texts.length === 0 ? [] : [{ type: 'text', text: texts.join('') }]),
    ...calls.map(({ id, name, arguments: args }) => ({ type: 'tool_use', id, name, input: readable(args) })),
  ];
}

function openedBlock(block: JsonObject): JsonObject {
  if (block['type'] === 'tool_use') return { ...block, input: {} };
  return block['type'] === 'text' ? { ...block, text: '' } : { ...block, thinking: '', signature: '' };
}

function deltasOfBlock(block: JsonObject, { reasoning, texts }: SaidTurn): JsonObject[] {
  if (block['type'] === 'text') return texts.map((text) => ({ type: 'text_delta', text }));
  if (block['type'] === 'thinking')
    return [...reasoning.map((thinking) => ({ type: 'thinking_delta', thinking })), { type: 'signature_delta', signature: 'c2ln' }];
  const json = JSON.stringify(block['input']);
  const middle = Math.floor(json.length / 2);
  return [
    { type: 'input_json_delta', partial_json: '' },
    { type: 'input_json_delta', partial_json: json.slice(0, middle) },
    { type: 'input_json_delta', partial_json: json.slice(middle) },
  ];
}

function fromAnthropic({ role, content }: JsonObject): AskedPlainly['messages'] {
  const blocks = partsOf(content);
  const results = blocks.filter(({ type }) => type === 'tool_result');
  const rest = blocks.filter(({ type }) => type !== 'tool_result');
  const calls = rest.filter(({ type }) => type === 'tool_use').map(({ name, input }) => ({ name: textIn(name), args: readable(input) }));
  const images = rest
    .filter(({ type }) => type === 'image')
    .map(({ source }) => {
      const { media_type: type, data, url } = source as Record<string, string>;
      return url ?? `data:${type};base64,${data}`;
    });
  return [
    ...results.map((block) => ({ role: 'tool', text: textsOf(block['content']), images: [], calls: [] })),
    ...(rest.length === 0 ? [] : [{ role: textIn(role), text: textsOf(rest), images, calls }]),
  ];
}

function fromAnthropicChoice({ type, name }: JsonObject): JsonValue {
  if (type === 'tool') return named(name);
  return type === 'any' ? 'required' : (type ?? null);
}

const ollama: WireFormat = {
  path: '/api/chat',
  type: 'application/x-ndjson',
  write: ({ reasoning, texts, calls, tokens, finish }) => ({
    model: 'model',
    created_at: '2026-01-01T00:00:00Z',
    message: {
      role: 'assistant',
      content: texts.join(''),
      ...(reasoning.length > 0 && { thinking: reasoning.join('') }),
      ...(calls.length > 0 && {
        tool_calls: calls.map(({ name, arguments: args }) => ({ function: { name, arguments: readable(args) } })),
      }),
    },
    done: true,
    done_reason: finish === 'length' ? 'length' : 'stop',
    prompt_eval_count: tokens.in,
    eval_count: tokens.out,
  }),
  stream(said) {
    const part = (message: JsonObject): string =>
      `${JSON.stringify({ model: 'model', created_at: '2026-01-01T00:00:00Z', message: { role: 'assistant', content: '', ...message }, done: false })}\n`;
    const last = { ...ollama.write(said), message: { role: 'assistant', content: '' } };
    return [
      ...said.reasoning.map((thinking) => part({ thinking })),
      ...said.texts.map((content) => part({ content })),
      ...said.calls.map(({ name, arguments: args }) => part({ tool_calls: [{ function: { name, arguments: readable(args) } }] })),
      `${JSON.stringify(last)}\n`,
    ];
  },
  read: ({ messages, tools, format, options }) => ({
    messages: objectsIn(messages).map(({ role, content, images, tool_calls: calls }) => ({
      role: textIn(role),
      text: textIn(content),
      images: (Array.isArray(images) ? images : []).map((image) => `data:image/png;base64,${textIn(image)}`),
      calls: objectsIn(calls).map((call) => {
        const { name, arguments: args } = call['function'] as JsonObject;
        return { name: textIn(name), args: readable(args) };
      }),
    })),
    tools: objectsIn(tools).map(nameIn),
    // Ollama has no such field.
    choice: null,
    tokens: (options as JsonObject | undefined)?.['num_predict'] ?? null,
    temperature: (options as JsonObject | undefined)?.['temperature'] ?? null,
    schema: format ?? null,
  }),
};

const formats: Record<BackendKind, WireFormat> = { openai: chat, 'openai-responses': responses, anthropic, ollama };
