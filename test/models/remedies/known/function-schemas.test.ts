import { describe, expect, it } from 'vitest';
import type { ModelEvent } from '../../../../src/core/chat/chat.ts';
import { GatewayError } from '../../../../src/core/errors.ts';
import type { JsonObject } from '../../../../src/shared/json/json.ts';
import type { ModelBackend, ModelRequest } from '../../../../src/core/models/model.ts';
import type { ToolSpec } from '../../../../src/core/tools/tool.ts';
import { findFault } from '../../../../src/models/remedies/known/find-fault.ts';
import { adaptBackend } from '../../../../src/models/adapt-backend.ts';
import { answerOf, generatedBy } from '../../../_support/scripted-model.ts';

function tool(name: string, schema: JsonObject = { type: 'string', pattern: '(?<x>a)' }): ToolSpec {
  return { name, description: name, parameters: { type: 'object', properties: { a: schema }, required: [] } };
}

function requestWith(tools: ToolSpec[]): ModelRequest {
  return {
    model: 'm',
    messages: [],
    tools,
    callerTools: [],
    toolChoice: undefined,
    parallelToolCalls: undefined,
    parameters: {},
    stream: true,
    signal: new AbortController().signal,
  };
}

/** Refuses as long as `refuse` finds a reason; keeps what it was offered. */
function backendThat(refuse: (tools: readonly ToolSpec[]) => Error | undefined): {
  backend: ModelBackend;
  offers: (readonly ToolSpec[])[];
} {
  const offers: (readonly ToolSpec[])[] = [];
  const backend: ModelBackend = generatedBy(async function* (request) {
    offers.push(request.tools);
    const error = refuse(request.tools);
    if (error !== undefined) throw error;
    yield { type: 'text', text: 'ok' };
    yield { type: 'finish', reason: 'stop' };
  });
  return { backend, offers };
}

async function read(backend: ModelBackend, request: ModelRequest): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of answerOf(backend, request)) events.push(event);
  return events;
}

const refused = (message: string, param?: string): GatewayError =>
  new GatewayError('upstream_rejected', message, { status: 400, ...(param !== undefined && { param }) });
const hasPattern = (spec: ToolSpec): boolean => JSON.stringify(spec.parameters).includes('"pattern"');

describe('one bad function', () => {
  it('is simplified, the question is asked again, and the remedy is remembered', async () => {
    const tools = [tool('good'), tool('bad')];
    const { backend, offers } = backendThat(([, bad]) =>
      bad !== undefined && hasPattern(bad) ? refused("Invalid schema for function 'bad': pattern") : undefined,
    );
    const repaired = adaptBackend(backend, { profile: 'plain' });
    const events = await read(repaired, requestWith(tools));
    expect(events.map((event) => event.type)).toEqual(['run-event', 'text', 'finish']);
    expect(events[0]).toMatchObject({
      event: { data: { code: 'function_schema_refused', message: expect.stringContaining('"bad"') as string } },
    });
    expect(offers).toHaveLength(2);
    expect(offers[1]?.map(hasPattern)).toEqual([true, false]);
    expect((await read(repaired, requestWith(tools))).map((event) => event.type)).toEqual(['run-event', 'text', 'finish']);
    expect(offers).toHaveLength(3);
  });

  it('is left out when simplifying does not help', async () => {
    const { backend, offers } = backendThat((tools) =>
      tools.some(({ name }) => name === 'bad') ? refused('Invalid schema', 'tools[1].function.parameters') : undefined,
    );
    await read(adaptBackend(backend, { profile: 'plain' }), requestWith([tool('good'), tool('bad')]));
    expect(offers.map((tools) => tools.map(({ name }) => name))).toEqual([['good', 'bad'], ['good', 'bad'], ['good']]);
  });

  it('that nobody names makes all simple, once', async () => {
    const { backend, offers } = backendThat(() => refused('Failed to parse grammar'));
    await expect(read(adaptBackend(backend, { profile: 'plain' }), requestWith([tool('a'), tool('b')]))).rejects.toThrow('grammar');
    expect(offers).toHaveLength(2);
    expect(offers[1]?.some(hasPattern)).toBe(false);
  });

  it('among many ends in a refusal after a few attempts', async () => {
    const tools = Array.from({ length: 20 }, (_, index) => tool(`f${index}`));
    const { backend, offers } = backendThat(([first]) => refused(`Invalid schema for function '${first?.name}'`));
    await expect(read(adaptBackend(backend, { profile: 'plain' }), requestWith(tools))).rejects.toThrow('Invalid schema');
    expect(offers.length).toBeLessThanOrEqual(7);
  });
});

describe('nothing is tried again', () => {
  it.each<[string, Error]>([
    ['an error about something else', refused('The context is too long')],
    ['a function that was not offered', refused("Invalid schema for function 'other'")],
    ['a backend that cannot be reached', new GatewayError('upstream_unreachable', "function 'bad' schema")],
    ['a limit of use', new GatewayError('upstream_rate_limited', "function 'bad' schema")],
    ['our own fault', new Error("schema of 'bad'")],
  ])('after %s', async (_, error) => {
    const { backend, offers } = backendThat(() => error);
    await expect(read(adaptBackend(backend, { profile: 'plain' }), requestWith([tool('bad')]))).rejects.toThrow(error.message);
    expect(offers).toHaveLength(1);
  });

  it('once something was said', async () => {
    let asked = 0;
    const backend: ModelBackend = generatedBy(async function* () {
      asked += 1;
      yield { type: 'text', text: 'I' };
      throw refused("Invalid schema for function 'bad'");
    });
    await expect(read(adaptBackend(backend, { profile: 'plain' }), requestWith([tool('bad')]))).rejects.toThrow('Invalid schema');
    expect(asked).toBe(1);
  });
});

it.each<[string, string | undefined, string | undefined]>([
  ["Invalid schema for function 'get_user': schema must have type 'object'", undefined, 'get_user'],
  [
    'Invalid JSON payload received. Unknown name "$ref" at \'tools[0].function_declarations[1].parameters.properties[0].value\'',
    undefined,
    'get',
  ],
  ['Invalid type for parameter', 'tools[0].function.parameters', 'get_user'],
  ['tools.1.custom.input_schema: JSON schema is invalid', undefined, 'get'],
  ['Tool get_user: unsupported schema', undefined, 'get_user'],
  ["Invalid schema for tools: 'get' is wrong", undefined, 'get'],
  ["Invalid schema for function 'mine': in 'get'", undefined, undefined],
  ['Please get a schema', undefined, undefined],
  ["Unknown value 'get' of the schema", 'temperature', undefined],
  ["messages.3: 'get' is no JSON", undefined, undefined],
])('%s (%s) names %s', (message, param, name) => {
  const found = findFault(refused(message, param), requestWith([tool('get_user'), tool('get')]));
  expect(found?.type === 'named' ? found.spec.name : undefined).toBe(name);
});

it.each<[string, string | undefined]>([
  ["Invalid schema for function 'get_user': type is missing", "function 'get_user"],
  ["The tool 'get_user' has an invalid JSON schema", "tool 'get_user"],
  ['tools.0.custom.input_schema: JSON schema is invalid', 'tools.0'],
  ["Something about a schema of 'get_user'", undefined],
  ["Blocked 'text': invalid schema for function 'get_user'", undefined],
  ['failed to parse grammar', 'parse grammar'],
  ['JSON schema conversion failed', 'JSON schema conversion'],
  [
    'json: cannot unmarshal array into Go struct field ToolProperty.tools.function.parameters of type string',
    'unmarshal array into Go struct field ToolProperty.tools',
  ],
  ['Something about a grammar', undefined],
])('%s points at its cause by %j', (message, words) => {
  const found = findFault(refused(message), requestWith([tool('get_user'), tool('get')]));
  expect(found).toBeDefined();
  expect(found?.pointsAt).toBe(words);
});

it.each([
  "tool call validation failed: parameters for tool get_user did not match schema: errors: [missing properties: 'q']",
  "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details: get_user json",
  'Failed to parse input at pos 12: {"name": "get_user", "parameters": {"q"',
  'error parsing tool call: raw=\'{"name":"get_user","parameters":{}\', err=unexpected end of JSON input',
  'Unexpected empty grammar stack after accepting piece: "get_user"',
  "The arguments do not satisfy the schema of function 'get_user'",
])('%s says nothing about a function', (message) => {
  expect(findFault(refused(message), requestWith([tool('get_user')]))).toBeUndefined();
});
