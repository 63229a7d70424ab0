import { describe, expect, it } from 'vitest';
import { withDerived } from '../../../../src/core/chat/derived-parameters.ts';
import type { AssistantMessage, ChatMessage, ToolMessage } from '../../../../src/core/chat/chat.ts';
import type { ModelRequest } from '../../../../src/core/models/model.ts';
import { refusesFunctionsWithReasoning } from '../../../../src/models/remedies/known/effort.ts';
import type { JsonObject } from '../../../../src/shared/json/json.ts';
import { refused, repeatOf, strictBackend } from '../../../_support/strict-backend.ts';

const user: ChatMessage = { role: 'user', content: 'q' };
const call = (...ids: string[]): AssistantMessage => ({
  role: 'assistant',
  content: null,
  toolCalls: ids.map((id) => ({ id, name: 'look', arguments: '{}' })),
});
const result = (toolCallId: string): ToolMessage => ({ role: 'tool', toolCallId, content: toolCallId });
const idsIn = ({ messages }: ModelRequest): string[] =>
  messages.flatMap((message) => (message.role === 'assistant' ? message.toolCalls.map(({ id }) => id) : []));
const resultIdsIn = ({ messages }: ModelRequest): string[] =>
  messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : []));
const look = { name: 'look', description: 'Looks', parameters: { type: 'object', properties: {} } };

describe('ids of calls', () => {
  const long = `call_${'x'.repeat(50)}`;

  it.each<[string, RegExp, string]>([
    ['Mistral', /^[A-Za-z0-9]{9}$/, `Tool call id was ${long} but must be a-z, A-Z, 0-9, with a length of 9.`],
    [
      'OpenAI',
      /^.{1,40}$/,
      "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 55 instead.",
    ],
    ['Anthropic', /^[\w-]+$/, "messages.1.content.1.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"],
    ['a template of Mistral', /^[A-Za-z0-9]{9}$/, 'Jinja Exception: Tool call IDs should be alphanumeric strings with length 9!'],
    [
      'Bedrock',
      /^[\w-]{1,50}$/,
      "Value at 'messages.1.member.content.1.member.toolUse.toolUseId' failed to satisfy constraint: Member must have length less than or equal to 50",
    ],
    ['Kimi', /^functions\.look:\d$/, "tool_call_id must have the form functions.{name}:{index}, such as 'functions.search:0'"],
  ])('have the form that %s takes, in calls and results alike', async (_name, form, words) => {
    const { ask } = strictBackend((request) => (idsIn(request).every((id) => form.test(id)) ? undefined : words));
    const messages = [
      user,
      call(`${long}/1`, 'Ab3dEf9hI'),
      result(`${long}/1`),
      result('Ab3dEf9hI'),
      call(`${long}/2`),
      result(`${long}/2`),
    ];
    const { requests, warnings, error } = await ask({ messages });
    expect({ warnings, error, count: requests.length }).toEqual({ warnings: ['call_ids_mapped'], error: undefined, count: 2 });
    const mapped = repeatOf(requests);
    expect(new Set(idsIn(mapped)).size).toBe(3);
    expect(resultIdsIn(mapped)).toEqual(idsIn(mapped));
    expect(resultIdsIn(mapped).every((id) => form.test(id))).toBe(true);
  });

  it('that fit already stay, and the others are the same in every request', async () => {
    const { ask } = strictBackend((request) =>
      idsIn(request).every((id) => id.length === 9) ? undefined : 'must be … with a length of 9.',
    );
    const messages = [user, call('Ab3dEf9hI', 'toolu_1'), result('toolu_1'), result('Ab3dEf9hI')];
    const first = repeatOf((await ask({ messages })).requests);
    expect(idsIn(first)[0]).toBe('Ab3dEf9hI');
    const second = (await ask({ messages: [...messages, user] }, 'bob')).requests;
    expect(second.map(idsIn)).toEqual([idsIn(first)]);
    expect(second.map(resultIdsIn)).toEqual([[idsIn(first)[1], 'Ab3dEf9hI']]);
  });

  it('that several calls share are told apart by their order', async () => {
    const isRepeated = (request: ModelRequest): boolean => new Set(idsIn(request)).size < idsIn(request).length;
    const { ask } = strictBackend((request) => (isRepeated(request) ? 'messages: `tool_use` ids must be unique' : undefined));
    const { requests } = await ask({ messages: [user, call('c0', 'c0'), result('c0'), result('c0'), call('c0'), result('c0')] });
    const mapped = repeatOf(requests);
    expect(new Set(idsIn(mapped)).size).toBe(3);
    expect(resultIdsIn(mapped)).toEqual(idsIn(mapped));
  });
});

describe('reasoning that belongs to earlier calls', () => {
  const isSigned = (extra: JsonObject | undefined): boolean => JSON.stringify(extra ?? {}).includes('"thought_signature":"');
  const signed: AssistantMessage = {
    ...call(),
    toolCalls: [{ id: 'a', name: 'look', arguments: '{}', extra: { extra_content: { google: { thought_signature: 'U2ln' } } } }],
  };

  it.each([
    'Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly',
    'Unable to submit request because function call `default_api:look` in the 2. content block is missing a `thought_signature`.',
  ])('has the placeholder that Google documents after "%s"', async (words) => {
    const isRefused = ({ messages }: ModelRequest): boolean =>
      messages.some((message) => message.role === 'assistant' && message.toolCalls.length > 0 && !isSigned(message.toolCalls[0]?.extra));
    const { ask } = strictBackend((request) => (isRefused(request) ? words : undefined));
    const messages = [user, signed, result('a'), call('b', 'c'), result('b'), result('c')];
    const { requests, warnings } = await ask({ messages });
    expect(warnings).toEqual(['reasoning_missing']);
    const [, kept, , filled] = requests[1]?.messages ?? [];
    expect(kept).toEqual(signed);
    expect(filled).toMatchObject({
      toolCalls: [
        { id: 'b', extra: { extra_content: { google: { thought_signature: 'skip_thought_signature_validator' } } } },
        { id: 'c' },
      ],
    });
    expect((await ask({ messages }, 'bob')).requests).toHaveLength(1);
  });

  it.each([
    'The `reasoning_content` in the thinking mode must be passed back to the API.',
    'Missing `reasoning_content` field in the assistant message at message index 1.',
    'thinking is enabled but reasoning_content is missing in assistant tool call message at index 2',
  ])('is empty where it is not known after "%s"', async (words) => {
    const isRefused = ({ messages }: ModelRequest): boolean =>
      messages.some((message) => message.role === 'assistant' && message.extra?.['reasoning_content'] === undefined);
    const { ask } = strictBackend((request) => (isRefused(request) ? words : undefined));
    const known: AssistantMessage = { ...call('a'), extra: { reasoning_content: 'I think.' } };
    const { requests } = await ask({ messages: [user, known, result('a'), call('b'), result('b')] });
    expect(requests[1]?.messages[1]).toEqual(known);
    expect(requests[1]?.messages[3]).toMatchObject({ extra: { reasoning_content: '' } });
  });

  it('is a few words where it must not be empty', async () => {
    const { ask } = strictBackend(({ messages }) =>
      messages.some((message) => message.role === 'assistant' && !message.extra?.['reasoning_content'])
        ? 'thinking is enabled but reasoning_content is missing in assistant tool call message at index 1'
        : undefined,
    );
    const { requests, error } = await ask({ messages: [user, call('a'), result('a')] });
    expect({ error, count: requests.length }).toEqual({ error: undefined, count: 3 });
    expect((await ask({ messages: [user, call('a'), result('a')] }, 'bob')).requests).toHaveLength(1);
  });
});

describe('messages with calls', () => {
  const said = (content: string | null, extra?: JsonObject): AssistantMessage => ({ ...call('a'), content, ...(extra && { extra }) });
  const callIn = ({ messages }: ModelRequest): AssistantMessage | undefined =>
    messages.find((message): message is AssistantMessage => message.role === 'assistant');

  it.each([
    'can only concatenate str (not "NoneType") to str',
    'messages.1.content: Input should be a valid string [type=string_type, input_value=None]',
    'messages[1].content must not be null',
    'Failed to deserialize the JSON body into the target type: messages[1]: missing field `content` at line 1 column 9',
  ])('get an empty text after "%s"', async (words) => {
    const { ask } = strictBackend((request) => (callIn(request)?.content === null ? words : undefined));
    const { requests } = await ask({ messages: [user, said(null), result('a')] });
    expect(requests.map((request) => callIn(request)?.content)).toEqual([null, '']);
  });

  it('lose their reasoning where they also have a text, and the model takes only one of them', async () => {
    const words =
      'Cannot pass both content and thinking in an assistant message with tool calls! Put the analysis message in one or the other.';
    const { ask } = strictBackend((request) =>
      callIn(request)?.extra?.['reasoning_content'] === undefined ? undefined : refused(words, { status: 500 }),
    );
    const { requests } = await ask({ messages: [user, said('I look.', { reasoning_content: 'hm', name: 'n' }), result('a')] });
    expect(repeatOf(requests).messages[1]).toEqual(said('I look.', { name: 'n' }));
  });

  it('lose their text where the model takes none beside calls', async () => {
    const words = 'Assistant message must have either content or tool_calls, but not both.';
    const { ask } = strictBackend((request) => (callIn(request)?.content === null ? undefined : words));
    const { requests } = await ask({ messages: [user, said('I look.'), result('a')] });
    expect(requests.map((request) => callIn(request)?.content)).toEqual(['I look.', null]);
  });
});

describe('functions of a model that reasons', () => {
  const newer =
    "Function tools with reasoning_effort are not supported for m in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.";
  const older = 'Function tools with reasoning_effort are not supported for m in /v1/chat/completions. Please use /v1/responses instead.';
  const effortOf = ({ parameters }: ModelRequest): unknown => parameters['reasoning_effort'];
  const refusesUnlessNone = (words: string) => (request: ModelRequest) =>
    request.tools.length > 0 && effortOf(request) !== 'none' ? refused(words, { param: 'reasoning_effort' }) : undefined;

  it.each([
    ['that is refused without an effort too', newer, {}],
    ['that the caller has set', newer, { reasoning_effort: 'high' }],
    ['that a dialect has derived', older, withDerived({}, { reasoning_effort: 'medium' })],
    ['in other words', "'reasoning_effort' cannot be used together with tools.", { reasoning_effort: 'low' }],
  ])('are offered without the reasoning %s', async (_name, words, parameters) => {
    const { ask } = strictBackend(refusesUnlessNone(words));
    const { requests, warnings } = await ask({ tools: [look], parameters });
    expect(requests.map(effortOf)).toEqual([parameters['reasoning_effort'], 'none']);
    expect(warnings).toEqual(['reasoning_disabled']);
    expect(await ask({ tools: [look], parameters })).toMatchObject({ requests: [{}], warnings: ['reasoning_disabled'] });
    expect((await ask({ parameters })).requests.map(effortOf)).toEqual([parameters['reasoning_effort']]);
  });

  it('are offered without reasoning where a proxy reports the refusal with status 500', async () => {
    const { ask } = strictBackend((request) => (effortOf(request) === 'none' ? undefined : refused(newer, { status: 500 })));
    expect((await ask({ tools: [look] })).requests.map(effortOf)).toEqual([undefined, 'none']);
  });

  it('are offered without an effort where the server does not know "none"', async () => {
    const { ask } = strictBackend((request) => {
      if (effortOf(request) === 'none')
        return "Invalid value: 'none'. Supported values are: 'low', 'medium' and 'high'. (reasoning_effort)";
      return effortOf(request) === undefined ? undefined : older;
    });
    const { requests } = await ask({ tools: [look], parameters: { reasoning_effort: 'low' } });
    expect(requests.map(effortOf)).toEqual(['low', 'none', undefined]);
  });

  it('keep the reasoning of other callers until another key is refused too', async () => {
    const { ask } = strictBackend(refusesUnlessNone(newer));
    await ask({ tools: [look] }, 'ada');
    expect((await ask({ tools: [look], messages: [{ role: 'user', content: 'r' }] }, 'bob')).requests).toHaveLength(2);
    expect((await ask({ tools: [look] }, 'carl')).requests).toHaveLength(1);
  });

  it('are recognised by their refusal', () => {
    expect([newer, older].map((words) => refusesFunctionsWithReasoning(refused(words)))).toEqual([true, true]);
    for (const words of ["Unsupported value: 'reasoning_effort' does not support 'xhigh'", 'Function tools are not supported'])
      expect(refusesFunctionsWithReasoning(refused(words))).toBe(false);
  });
});

describe('functions that are withheld so that the model answers', () => {
  const withheld = { tools: [look], callerTools: [], parallelToolCalls: undefined };
  const messages = [user, call('a'), result('a')];
  const misses = (words: string) => (request: ModelRequest) => (request.tools.length === 0 ? words : undefined);

  it.each([
    'Requests which include `tool_use` or `tool_result` blocks must define tools',
    'The toolConfig field must be defined when using toolUse and toolResult content blocks.',
    "Anthropic doesn't support tool calling without `tools=` param specified.",
  ])('are sent after "%s", but may not be called, and at once from then on', async (words) => {
    const { ask } = strictBackend(misses(words));
    const { requests, warnings } = await ask({ messages, withheld });
    expect(warnings).toEqual(['functions_missed']);
    expect(repeatOf(requests)).toMatchObject({ tools: [look], toolChoice: 'none' });
    expect((await ask({ messages, withheld }, 'bob')).requests).toHaveLength(1);
  });

  it('are tried after any refusal, which teaches nothing about other chats', async () => {
    const { ask } = strictBackend(misses('Something is wrong.'));
    expect((await ask({ messages, withheld })).requests).toHaveLength(2);
    expect((await ask({ messages, withheld })).requests).toHaveLength(2);
  });

  it('are not sent where there are no earlier calls', async () => {
    const { ask } = strictBackend(misses('Something is wrong.'));
    expect((await ask({ withheld })).requests).toHaveLength(1);
  });
});
