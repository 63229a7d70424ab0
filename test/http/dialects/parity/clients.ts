import { dialects } from '../../../../src/http/dialects/dialects.ts';
import type { JsonObject } from '../../../../src/shared/json/json.ts';
import { additionsIn, dataOf, decideByToken, nothing, objectsIn, textIn } from './chat.ts';
import type { Answer, Call, Chat, DialectClient, Turn } from './chat.ts';

type Read = Omit<Answer, 'status'>;

const dataUrl = (image: string): string => `data:image/png;base64,${image}`;
const parsed = (args: unknown): JsonObject => JSON.parse(textIn(args)) as JsonObject;
const defined = (fields: Record<string, unknown>): JsonObject =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as JsonObject;

const chatCompletions: DialectClient = {
  name: 'chat completions',
  path: '/v1/chat/completions',
  write: ({ model = 'model', system, turns, functions, choice, schema, maxTokens, temperature, fields }, stream) =>
    defined({
      model,
      stream,
      messages: [...(system === undefined ? [] : [{ role: 'system', content: system }]), ...turns.map(toMessage)],
      tools: functions?.map((definition) => ({ type: 'function', function: definition })),
      tool_choice: typeof choice === 'object' ? { type: 'function', function: { name: choice.function } } : choice,
      response_format: schema && { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } },
      max_tokens: maxTokens,
      temperature,
      ...(stream && { stream_options: { include_usage: true } }),
      ...fields,
    }),
  read(body) {
    const [choice] = objectsIn(body['choices']);
    const { content, reasoning_content: reasoning, tool_calls: calls } = (choice?.['message'] ?? {}) as JsonObject;
    return {
      ...nothing,
      ...additionsIn(body),
      text: textIn(content),
      reasoning: textIn(reasoning),
      calls: objectsIn(calls).map(fromFunctionCall),
      finish: finishOf(choice?.['finish_reason']),
      tokens: tokensIn(body['usage'], 'prompt_tokens', 'completion_tokens'),
    };
  },
  readStream(stream) {
    const chunks = dataOf(stream);
    const choices = chunks.flatMap((chunk) => objectsIn(chunk['choices']));
    const deltas = choices.map((choice) => choice['delta'] as JsonObject);
    const usage = chunks.findLast((chunk) => chunk['usage'] !== undefined && chunk['usage'] !== null)?.['usage'];
    const error = chunks.find((chunk) => chunk['error'] !== undefined);
    return {
      ...nothing,
      ...additionsIn(...chunks),
      text: deltas.map((delta) => textIn(delta['content'])).join(''),
      reasoning: deltas.map((delta) => textIn(delta['reasoning_content'])).join(''),
      calls: deltas.flatMap((delta) => objectsIn(delta['tool_calls'])).map(fromFunctionCall),
      finish: finishOf(choices.findLast((choice) => choice['finish_reason'] !== null)?.['finish_reason']),
      error: error && chatCompletions.readError(error),
      tokens: tokensIn(usage, 'prompt_tokens', 'completion_tokens'),
    };
  },
  readError: (body) => textIn((body['error'] as JsonObject)['message']),
  decide: decideByToken,
};

function toMessage(turn: Turn): JsonObject {
  if (turn.role === 'result') return { role: 'tool', tool_call_id: turn.of.id, content: turn.text };
  if (turn.role === 'assistant') {
    const calls = turn.calls?.map(({ id, name, args }) => ({ id, type: 'function', function: { name, arguments: JSON.stringify(args) } }));
    return defined({ role: 'assistant', content: turn.text ?? null, tool_calls: calls });
  }
  if (turn.image === undefined) return { role: 'user', content: turn.text };
  return {
    role: 'user',
    content: [
      { type: 'text', text: turn.text },
      { type: 'image_url', image_url: { url: dataUrl(turn.image) } },
    ],
  };
}

function fromFunctionCall(call: JsonObject): Call {
  const { name, arguments: args } = call['function'] as JsonObject;
  return { id: textIn(call['id']), name: textIn(name), args: parsed(args) };
}

function finishOf(reason: unknown): Answer['finish'] {
  return ({ stop: 'stop', length: 'length', tool_calls: 'calls' } as const)[textIn(reason)];
}

function tokensIn(usage: unknown, into: string, out: string): Answer['tokens'] {
  const counts = (usage ?? undefined) as Record<string, number> | undefined;
  return counts === undefined ? undefined : { in: counts[into] ?? Number.NaN, out: counts[out] ?? Number.NaN };
}

const responses: DialectClient = {
  name: 'responses',
  path: '/v1/responses',
  write: ({ model = 'model', system, turns, functions, choice, schema, maxTokens, temperature, thinks, fields }, stream) =>
    defined({
      model,
      stream,
      instructions: system,
      input: turns.flatMap(toItems),
      tools: functions?.map((definition) => ({ type: 'function', strict: false, ...definition })),
      tool_choice: typeof choice === 'object' ? { type: 'function', name: choice.function } : choice,
      text: schema && { format: { type: 'json_schema', name: 'answer', schema, strict: true } },
      reasoning: thinks === true ? { summary: 'auto' } : undefined,
      max_output_tokens: maxTokens,
      temperature,
      ...fields,
    }),
  read(body) {
    const items = objectsIn(body['output']);
    const ofType = (type: string): JsonObject[] => items.filter((item) => item['type'] === type);
    const calls = ofType('function_call').map(({ call_id: id, name, arguments: args }) => ({
      id: textIn(id),
      name: textIn(name),
      args: parsed(args),
    }));
    const isCut = body['status'] === 'incomplete';
    return {
      ...nothing,
      ...additionsIn(body),
      text: ofType('message')
        .flatMap((item) => objectsIn(item['content']))
        .map((part) => textIn(part['text']))
        .join(''),
      reasoning: ofType('reasoning')
        .flatMap((item) => [...objectsIn(item['summary']), ...objectsIn(item['content'])])
        .map((part) => textIn(part['text']))
        .join(''),
      calls,
      finish: body['status'] === 'failed' ? undefined : isCut ? 'length' : calls.length > 0 ? 'calls' : 'stop',
      waiting: ofType('mcp_approval_request').map((item) => ({ tool: textIn(item['name']), args: parsed(item['arguments']), proof: item })),
      error: body['status'] === 'failed' ? responses.readError(body) : undefined,
      tokens: tokensIn(body['usage'], 'input_tokens', 'output_tokens'),
    };
  },
  readStream(stream) {
    const events = dataOf(stream);
    const last = events.at(-1);
    const read = responses.read((last?.['response'] ?? {}) as JsonObject);
    const deltas = events
      .filter(({ type }) => type === 'response.output_text.delta')
      .map(({ delta }) => textIn(delta))
      .join('');
    // What has arrived before a failure counts too.
    return { ...read, text: deltas };
  },
  readError: (body) => textIn((body['error'] as JsonObject)['message']),
  decide(chat, waiting, approve) {
    const decisions = waiting.map(({ proof }) => ({ type: 'mcp_approval_response', approval_request_id: proof['id'], approve }));
    const body = responses.write(chat, false);
    const requests = waiting.map(({ proof }) => proof);
    return { path: responses.path, body: { ...body, input: [...objectsIn(body['input']), ...requests, ...decisions] } };
  },
};

function toItems(turn: Turn): JsonObject[] {
  if (turn.role === 'result') return [{ type: 'function_call_output', call_id: turn.of.id, output: turn.text }];
  if (turn.role === 'assistant') {
    const text =
      turn.text === undefined ? [] : [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: turn.text }] }];
    const calls = turn.calls ?? [];
    return [...text, ...calls.map(({ id, name, args }) => ({ type: 'function_call', call_id: id, name, arguments: JSON.stringify(args) }))];
  }
  const image = turn.image === undefined ? [] : [{ type: 'input_image', image_url: dataUrl(turn.image), detail: 'auto' }];
  return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: turn.text }, ...image] }];
}

/** What clients send that have to name a maximum, where a scenario has none. */
export const demandedMaxTokens = 4_096;

const messages: DialectClient = {
  name: 'messages',
  path: '/v1/messages',
  headers: { 'anthropic-version': '2023-06-01' },
  write: ({ model = 'model', system, turns, functions, choice, schema, maxTokens, temperature, thinks, fields }, stream) =>
    defined({
      model,
      stream,
      system,
      max_tokens: maxTokens ?? demandedMaxTokens,
      messages: turns.reduce<JsonObject[]>(addBlocks, []),
      tools: functions?.map(({ parameters, ...definition }) => ({ ...definition, input_schema: parameters })),
      tool_choice: toAnthropicChoice(choice),
      thinking: thinks === true ? { type: 'enabled', budget_tokens: 1_024 } : undefined,
      output_config: schema && { format: { type: 'json_schema', schema } },
      temperature,
      ...fields,
    }),
  read(body) {
    const blocks = objectsIn(body['content']);
    return {
      ...nothing,
      ...additionsIn(body),
      text: blocks.map((block) => textIn(block['text'])).join(''),
      reasoning: blocks.map((block) => textIn(block['thinking'])).join(''),
      calls: blocks
        .filter(({ type }) => type === 'tool_use')
        .map(({ id, name, input }) => ({ id: textIn(id), name: textIn(name), args: input as JsonObject })),
      finish: ({ end_turn: 'stop', max_tokens: 'length', tool_use: 'calls' } as const)[textIn(body['stop_reason'])],
      tokens: tokensIn(body['usage'], 'input_tokens', 'output_tokens'),
    };
  },
  readStream(stream) {
    const events = dataOf(stream);
    const ended = events.find(({ type }) => type === 'message_delta') ?? {};
    const error = events.find(({ type }) => type === 'error');
    const message = events.find(({ type }) => type === 'message_start')?.['message'] as JsonObject | undefined;
    const read = messages.read({
      ...message,
      ...ended,
      ...(ended['delta'] as JsonObject | undefined),
      content: events.filter(({ type }) => type === 'content_block_start').map((event) => blockOf(event, events)),
    });
    return { ...read, ...additionsIn(ended, (ended['delta'] ?? {}) as JsonObject), error: error && messages.readError(error) };
  },
  readError: (body) => textIn((body['error'] as JsonObject)['message']),
  decide: decideByToken,
};

/** A block with its deltas. */
function blockOf({ index, content_block: start }: JsonObject, events: readonly JsonObject[]): JsonObject {
  const deltas = events
    .filter((event) => event['type'] === 'content_block_delta' && event['index'] === index)
    .map((event) => event['delta'] as JsonObject);
  const joined = (key: string): string => deltas.map((delta) => textIn(delta[key])).join('');
  const block = start as JsonObject;
  if (block['type'] === 'tool_use') return { ...block, input: JSON.parse(joined('partial_json') || '{}') as JsonObject };
  if (block['type'] === 'thinking') return { ...block, thinking: joined('thinking') };
  return block['type'] === 'text' ? { ...block, text: joined('text') } : block;
}

/** Anthropic's roles alternate: results are blocks of a user's message. */
function addBlocks(all: JsonObject[], turn: Turn): JsonObject[] {
  const role = turn.role === 'assistant' ? 'assistant' : 'user';
  const last = all.at(-1);
  const blocks = blocksOf(turn);
  if (last?.['role'] !== role) return [...all, { role, content: blocks }];
  return [...all.slice(0, -1), { role, content: [...objectsIn(last['content']), ...blocks] }];
}

function blocksOf(turn: Turn): JsonObject[] {
  if (turn.role === 'result') return [{ type: 'tool_result', tool_use_id: turn.of.id, content: turn.text }];
  const text = turn.text === undefined ? [] : [{ type: 'text', text: turn.text }];
  if (turn.role === 'assistant')
    return [...text, ...(turn.calls ?? []).map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: args }))];
  return [
    ...text,
    ...(turn.image === undefined ? [] : [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: turn.image } }]),
  ];
}

function toAnthropicChoice(choice: Chat['choice']): JsonObject | undefined {
  if (choice === undefined) return undefined;
  return typeof choice === 'object' ? { type: 'tool', name: choice.function } : { type: choice === 'required' ? 'any' : choice };
}

const ollama: DialectClient = {
  name: 'ollama',
  path: '/api/chat',
  write: ({ model = 'model', system, turns, functions, schema, maxTokens, temperature, thinks, choice, fields }, stream) =>
    defined({
      model,
      stream,
      messages: [...(system === undefined ? [] : [{ role: 'system', content: system }]), ...turns.map(toOllamaMessage)],
      tools: functions?.map((definition) => ({ type: 'function', function: definition })),
      tool_choice: typeof choice === 'object' ? { type: 'function', function: { name: choice.function } } : choice,
      think: thinks,
      format: schema,
      options: defined({ num_predict: maxTokens, temperature }),
      ...fields,
    }),
  read: (body) => readOllamaLines([body]),
  readStream: (stream) =>
    readOllamaLines(
      stream
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as JsonObject),
    ),
  readError: (body) => textIn(body['error']),
  decide: decideByToken,
};

function toOllamaMessage(turn: Turn): JsonObject {
  if (turn.role === 'result') return { role: 'tool', tool_name: turn.of.name, content: turn.text };
  if (turn.role === 'assistant')
    return defined({
      role: 'assistant',
      content: turn.text ?? '',
      tool_calls: turn.calls?.map(({ name, args }) => ({ function: { name, arguments: args } })),
    });
  return defined({ role: 'user', content: turn.text, images: turn.image === undefined ? undefined : [turn.image] });
}

function readOllamaLines(lines: readonly JsonObject[]): Read {
  const last = lines.findLast(({ done }) => done === true);
  const parts = lines.map((line) => (line['message'] ?? {}) as JsonObject);
  const calls = parts
    .flatMap((part) => objectsIn(part['tool_calls']))
    .map((call) => {
      const { name, arguments: args } = call['function'] as JsonObject;
      return { id: textIn(call['id']), name: textIn(name), args: args as JsonObject };
    });
  const error = lines.find((line) => line['error'] !== undefined);
  return {
    ...nothing,
    ...additionsIn(last ?? {}),
    text: parts.map((part) => textIn(part['content'])).join(''),
    reasoning: parts.map((part) => textIn(part['thinking'])).join(''),
    calls,
    finish: last === undefined ? undefined : last['done_reason'] === 'length' ? 'length' : calls.length > 0 ? 'calls' : 'stop',
    error: error && ollama.readError(error),
    tokens: tokensIn(last, 'prompt_eval_count', 'eval_count'),
  };
}

/** The first is what the others are compared with. */
export const dialectClients: readonly DialectClient[] = [chatCompletions, responses, messages, ollama];

const paths = new Set(dialects.flatMap((dialect) => dialect.paths));

export const servedClients = dialectClients.filter(({ path }) => paths.has(path));
