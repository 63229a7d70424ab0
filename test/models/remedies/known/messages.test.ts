import { describe, expect, it } from 'vitest';
import { textOf, type AssistantMessage, type ChatMessage, type ContentPart, type ToolMessage } from '../../../../src/core/chat/chat.ts';
import type { GatewayError } from '../../../../src/core/errors.ts';
import type { ModelRequest } from '../../../../src/core/models/model.ts';
import { refused, shownMessages, strictBackend } from '../../../_support/strict-backend.ts';

const system = (content: string): ChatMessage => ({ role: 'system', content });
const developer = (content: string): ChatMessage => ({ role: 'developer', content });
const user = (content: string | ContentPart[]): ChatMessage => ({ role: 'user', content });
const answer = (content: string): AssistantMessage => ({ role: 'assistant', content, toolCalls: [] });
const call = (...ids: string[]): AssistantMessage => ({
  role: 'assistant',
  content: null,
  toolCalls: ids.map((id) => ({ id, name: 'look', arguments: '{}' })),
});
const result = (toolCallId: string, content: ToolMessage['content'] = 'r'): ToolMessage => ({ role: 'tool', toolCallId, content });
const picture: ContentPart = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };

const isSystem = ({ role }: ChatMessage): boolean => role === 'system' || role === 'developer';
const hasLateSystem = ({ messages }: ModelRequest): boolean => messages.some((message, index) => index > 0 && isSystem(message));
const hasDeveloper = ({ messages }: ModelRequest): boolean => messages.some(({ role }) => role === 'developer');
const repeatsRole = ({ messages }: ModelRequest): boolean =>
  messages.some(({ role }, index) => role !== 'tool' && role === messages[index - 1]?.role);

/** Asks once, and gives what was sent in the end. */
async function sentFor(messages: ChatMessage[], refuse: (request: ModelRequest) => string | GatewayError | undefined): Promise<string[]> {
  const { ask } = strictBackend(refuse);
  const { requests, error } = await ask({ messages });
  expect(error).toBeUndefined();
  return shownMessages(requests.at(-1)?.messages ?? []);
}

describe('system messages', () => {
  it.each([
    'System message must be at the beginning.',
    'System messages should be the first in the conversation',
    'The system prompt has to come first.',
    'Only the first message can be a system message',
    'Only one system message is allowed.',
    'Multiple system messages are not supported',
    "Unexpected role 'system' after role 'user'",
    'Only user and assistant roles are supported, with the exception of an initial optional system message!',
    'After the optional system message, conversation roles must alternate user/assistant/user/assistant/...',
    '\n------------\nWhile executing CallExpression at line 85, column 32 in source:\nError: Jinja Exception: System message must be at the beginning.',
  ])('become one at the beginning, in their order, after "%s"', async (words) => {
    const messages = [system('one'), user('q'), answer('a'), developer('two'), user('again'), system('three')];
    expect(await sentFor(messages, (request) => (hasLateSystem(request) ? words : undefined))).toEqual([
      'system: one\n\ntwo\n\nthree',
      'user: q',
      'assistant: a',
      'user: again',
    ]);
  });

  it.each([400, 422, 500])('become one where the server refuses with status %i', async (status) => {
    const refuse = (request: ModelRequest): GatewayError | undefined =>
      hasLateSystem(request) ? refused('System message must be at the beginning.', { status }) : undefined;
    expect(await sentFor([system('one'), system('two'), user('q')], refuse)).toEqual(['system: one\n\ntwo', 'user: q']);
  });

  it('keep their parts where they are no texts, and lose none', async () => {
    const parts = [{ type: 'text', text: 'b' }, picture];
    const messages: ChatMessage[] = [system('a'), { role: 'system', content: parts }, user('q')];
    const { ask } = strictBackend((request) => (hasLateSystem(request) ? 'System message must be at the beginning.' : undefined));
    const { requests } = await ask({ messages });
    expect(requests[1]?.messages[0]).toEqual({ role: 'system', content: [{ type: 'text', text: 'a' }, ...parts] });
  });

  it.each([
    'Failed to deserialize the JSON body into the target type: messages[1].role: unknown variant `developer`, expected one of `system`, `user`',
    "developer is not one of ['system', 'assistant', 'user', 'tool', 'function'] - 'messages.[6].role'",
    "invalid parameter 'messages[0].role': invalid role 'developer', must be one of: system, user",
    "Input tag 'developer' found using 'role' does not match any of the expected tags: 'system', 'user', 'assistant', 'tool'",
    "Value 'developer' at 'messages.1.member.role' failed to satisfy constraint: Member must satisfy enum value set: [user, assistant]",
    "'messages.0' : discriminator property 'role' has invalid value",
    'Invalid request: role must be one of system, user, assistant, tool, got developer',
    'Unexpected message role.',
    "body.messages.0.role: Input should be 'system', 'user', 'assistant' or 'tool'",
    '"messages[0].role" must be one of [system, user, assistant, tool]',
    '[1214] Incorrect role information',
  ])('keep their places, under the role that is known, after "%s"', async (words) => {
    const sent = await sentFor([developer('one'), user('q'), developer('two')], (request) => (hasDeveloper(request) ? words : undefined));
    expect(sent).toEqual(['system: one', 'user: q', 'system: two']);
  });

  it.each([
    'System role not supported',
    'The `system` role is not supported by this model.',
    'Developer instruction is not enabled for models/gemma-3-27b-it',
    'This model does not support system messages.',
    'Only user and assistant roles are supported!',
    'prompting with images is incompatible with system messages',
    "system is not one of ['user', 'assistant']",
    "messages.0.role: Input should be 'user' or 'assistant'",
    'Conversation roles must alternate user/assistant/user/assistant/...',
  ])('go into the first user message after "%s"', async (words) => {
    const sent = await sentFor([system('one'), user('q'), answer('a'), user('again')], ({ messages }) =>
      messages.some(isSystem) ? words : undefined,
    );
    expect(sent).toEqual(['user: one\n\nq', 'assistant: a', 'user: again']);
  });

  it('go there from the role developer too where the model has no instructions at all', async () => {
    const sent = await sentFor([developer('one'), user('q')], ({ messages }) => {
      const [first] = messages.filter(isSystem);
      return first && `Unsupported value: 'messages[0].role' does not support '${first.role}' with this model.`;
    });
    expect(sent).toEqual(['user: one\n\nq']);
  });

  it('become the question where there is none, and stay where there is one', async () => {
    const hasQuestion = ({ messages }: ModelRequest): boolean => messages.some(({ role }) => role === 'user');
    const { ask } = strictBackend((request) => (hasQuestion(request) ? undefined : 'No user query found in messages.'));
    const { requests } = await ask({ messages: [system('one'), system('two')] });
    expect(shownMessages(requests.at(-1)?.messages ?? [])).toEqual(['system: one', 'user: two']);
    const next = await ask({ messages: [system('one'), user('q')] });
    expect(next.requests.map(({ messages }) => shownMessages(messages))).toEqual([['system: one', 'user: q']]);
  });

  it('become the first user message where the assistant has begun', async () => {
    const sent = await sentFor([system('one'), answer('Hello!'), user('q')], ({ messages }) =>
      messages.some(isSystem) ? 'System role not supported' : undefined,
    );
    expect(sent).toEqual(['user: one', 'assistant: Hello!', 'user: q']);
  });

  it('are moved at once for everybody from then on, with a warning only where something is moved', async () => {
    const { ask } = strictBackend((request) => (hasLateSystem(request) ? 'System message must be at the beginning.' : undefined));
    const messages = [system('one'), user('q'), system('two')];
    expect((await ask({ messages }, 'ada')).requests).toHaveLength(2);
    expect(await ask({ messages }, 'bob')).toMatchObject({
      requests: [{ messages: [{ content: 'one\n\ntwo' }, {}] }],
      warnings: ['messages_rearranged'],
    });
    expect(await ask({ messages: messages.slice(0, 2) }, 'bob')).toMatchObject({ requests: [{}], warnings: [] });
  });

  it('are moved for the run alone where the conversation is about such an error', async () => {
    const { ask } = strictBackend((request) => (hasLateSystem(request) ? 'System message must be at the beginning.' : undefined));
    await ask({ messages: [system('one'), user('Why "System message must be at the beginning"?'), system('two')] });
    expect((await ask({ messages: [system('one'), user('q'), system('two')] }, 'bob')).requests).toHaveLength(2);
  });

  it('are not moved where the server fails in another way', async () => {
    const { ask } = strictBackend(() => 'The system is overloaded, try first thing tomorrow.');
    expect((await ask({ messages: [system('one'), system('two'), user('q')] })).requests).toHaveLength(1);
  });
});

describe('turns', () => {
  it.each([
    'Conversation roles must alternate user/assistant/user/assistant/...',
    'After the (optional) system message(s), user and assistant roles should be alternating.',
    'Please ensure that multiturn requests alternate between user and model',
    'messages: roles must alternate between "user" and "assistant", but found multiple "user" roles in a row',
    'deepseek-reasoner does not support successive user or assistant messages (messages[1] and messages[2] in your input).',
    "Unexpected role 'user' after role 'user'",
  ])('of one role are merged after "%s"', async (words) => {
    const messages = [
      system('s'),
      user('context'),
      user([{ type: 'text', text: 'q' }, picture]),
      answer('a'),
      answer('b'),
      call('c'),
      result('c'),
    ];
    const { ask } = strictBackend((request) => (repeatsRole(request) ? words : undefined));
    const { requests } = await ask({ messages });
    expect(requests).toHaveLength(2);
    expect(requests[1]?.messages).toEqual([
      system('s'),
      user([{ type: 'text', text: 'context' }, { type: 'text', text: 'q' }, picture]),
      { ...call('c'), content: 'a\n\nb' },
      result('c'),
    ]);
  });

  it('are merged once late system messages are out of their way', async () => {
    const isRefused = (request: ModelRequest): boolean => repeatsRole(request) || hasLateSystem(request);
    const sent = await sentFor([system('s'), user('context'), system('t'), user('q')], (request) =>
      isRefused(request) ? 'Conversation roles must alternate user/assistant/user/assistant/...' : undefined,
    );
    expect(sent).toEqual(['system: s\n\nt', 'user: context\n\nq']);
  });

  it('are merged at once from then on, also where late system messages are between them', async () => {
    const { ask } = strictBackend((request) =>
      repeatsRole(request) || hasLateSystem(request) ? 'Conversation roles must alternate user/assistant/user/assistant/...' : undefined,
    );
    const messages = [system('s'), user('context'), system('t'), user('q')];
    expect((await ask({ messages }, 'ada')).requests).toHaveLength(3);
    expect((await ask({ messages }, 'bob')).requests).toHaveLength(1);
  });

  it('get one of the model between results and a question', async () => {
    const isRefused = ({ messages }: ModelRequest): boolean =>
      messages.some(({ role }, index) => role === 'user' && messages[index - 1]?.role === 'tool');
    const sent = await sentFor([user('q'), call('c'), result('c'), user('and?')], (request) =>
      isRefused(request) ? "Unexpected role 'user' after role 'tool'" : undefined,
    );
    expect(sent).toEqual(['user: q', 'assistant: null', 'tool: r', 'assistant: Understood.', 'user: and?']);
  });

  it.each([
    "Invalid request: the message at position 1 with role 'assistant' must not be empty",
    'Assistant message must have either content or tool_calls, but not none.',
    'messages.1: all messages must have non-empty content except for the optional final assistant message',
  ])('of the model that say nothing are left out after "%s"', async (words) => {
    const isEmpty = ({ role, content }: ChatMessage): boolean => role === 'assistant' && content === '';
    const messages = [user('q'), answer(''), user('again')];
    expect(await sentFor(messages, (request) => (request.messages.some(isEmpty) ? words : undefined))).toEqual(['user: q', 'user: again']);
  });

  it.each([
    'This model does not support assistant message prefill. The conversation must end with a user message.',
    'Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant',
    'The last message of deepseek-reasoner must be a user message, or an assistant message with prefix mode on (refer to https://api-docs.deepseek.com/guides/chat_prefix_completion).',
    'Last message must have role `user` or `tool`.',
    'Please ensure that multiturn requests end with a user role.',
    'Assistant response prefill is incompatible with enable_thinking.',
    'Cannot have 2 or more assistant messages at the end of the list.',
  ])('are one more for a model that does not continue its own, after "%s"', async (words) => {
    const { ask } = strictBackend(({ messages }) => (messages.at(-1)?.role === 'assistant' ? words : undefined));
    const messages = [user('A story'), answer('Once upon')];
    const { requests, warnings, error } = await ask({ messages });
    expect([requests.length, warnings, error]).toEqual([2, ['prefill_refused'], undefined]);
    expect(requests[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    expect((await ask({ messages: [...messages, user('And then?')] })).requests[0]?.messages).toHaveLength(3);
    expect((await ask({ messages })).requests).toHaveLength(1);
    expect((await ask({ messages }, 'eve')).requests).toHaveLength(2);
  });

  it('that nothing can help are refused after a few requests', async () => {
    const { ask } = strictBackend(() => 'Conversation roles must alternate user/assistant/user/assistant/...');
    const { requests, error } = await ask({ messages: [system('s'), user('q'), user('r'), call('c'), result('c')] });
    expect(error).toMatchObject({ code: 'upstream_rejected' });
    expect(requests.length).toBeLessThanOrEqual(4);
  });
});

describe('results of calls', () => {
  const hasParts = ({ messages }: ModelRequest): boolean => messages.some(({ role, content }) => role === 'tool' && Array.isArray(content));

  it.each([
    'messages[2].content: expected a string',
    'Failed to deserialize the JSON body into the target type: messages[3]: invalid type: sequence, expected a string at line 1 column 9',
    "'messages.2' : for 'role:tool' the following must be satisfied[('messages.2.content' : value must be a string)]",
    'messages.3.content: Input should be a valid string',
    'messages.2.content: Invalid input',
    'Input should be a valid string',
    'Unknown method: startswith for type Array',
    "Invalid 'messages[2]'. Image URLs are only allowed for messages with role 'user', but this message with role 'tool' contains an image URL.",
    'can only concatenate str (not "list") to str',
    'json: cannot unmarshal array into Go struct field ChatCompletionRequest.messages.content of type string',
  ])('are texts, with their pictures in a user message after all of them, after "%s"', async (words) => {
    const messages = [
      user('q'),
      call('a', 'b'),
      result('a', [{ type: 'text', text: 'as ' }, picture]),
      result('b', [picture]),
      user('and?'),
    ];
    const { ask } = strictBackend((request) => (hasParts(request) ? words : undefined));
    const { requests, warnings } = await ask({ messages });
    expect(warnings).toEqual(['messages_rearranged']);
    expect(requests[1]?.messages.slice(2)).toEqual([
      result('a', 'as '),
      result('b', 'The result is the images below.'),
      user([
        { type: 'text', text: 'Images in the result of the call a:' },
        picture,
        { type: 'text', text: 'Images in the result of the call b:' },
        picture,
      ]),
      user('and?'),
    ]);
  });

  it('of several texts become one, without a message of the user', async () => {
    const parts = [
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
    ];
    const sent = await sentFor([user('q'), call('c'), result('c', parts)], (request) =>
      hasParts(request) ? 'content must be a string' : undefined,
    );
    expect(sent).toEqual(['user: q', 'assistant: null', 'tool: a\nb']);
  });

  it('become texts together with the parts of other messages, where these are texts', async () => {
    const [first, second] = [
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
    ];
    const isParted = ({ messages }: ModelRequest): boolean =>
      messages.some(({ content }) => Array.isArray(content) && content.length === 2);
    const { ask } = strictBackend((request) => (isParted(request) ? 'messages[0]: invalid type: sequence, expected a string' : undefined));
    const { requests } = await ask({ messages: [user([first, second]), answer('ok'), user([picture])] });
    expect(requests.at(-1)?.messages).toEqual([user(textOf([first, second])), answer('ok'), user([picture])]);
  });

  it('keep their pictures where the server takes them', async () => {
    const { ask } = strictBackend(() => undefined);
    const messages = [user('q'), call('c'), result('c', [picture])];
    expect((await ask({ messages })).requests).toEqual([expect.objectContaining({ messages }) as ModelRequest]);
  });
});
