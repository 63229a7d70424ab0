import { expect, it } from 'vitest';
import type { ChatMessage, MessageContent } from '../../../src/core/chat/chat.ts';
import { GatewayError } from '../../../src/core/errors.ts';
import { limits } from '../../../src/core/limits.ts';
import type { ToolPictures } from '../../../src/core/models/model.ts';
import { backendOf } from '../../_support/build-app.ts';
import { calls, says, ScriptedModel } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { answerOf, documentOf, gatewayOf, question, selects, serverOf } from '../gateway.ts';
import type { Gateway } from '../gateway.ts';

const picture = `data:image/png;base64,${'A'.repeat(400)}`;
const other = `data:image/webp;base64,${'B'.repeat(400)}`;
const after: ToolPictures = { place: 'after_results', isKnownToSee: true };

interface Camera {
  turns: ScriptStep[][];
  pictures?: ToolPictures | undefined;
  /** What the function answers. */
  result?: unknown;
}

/** A gateway whose function takes pictures, and the model. */
async function camera({
  turns,
  pictures = after,
  result = { shot: picture, words: 'the code' },
}: Camera): Promise<Gateway & { model: ScriptedModel }> {
  const model = new ScriptedModel(...turns);
  const gateway = await gatewayOf({
    backends: [{ ...backendOf(model), toolPictures: pictures }],
    servers: [serverOf('camera', documentOf({ shoot: numbered }))],
    answers: { 'http://camera.test/shoot': answerOf(JSON.stringify(result)) },
  });
  return { ...gateway, model };
}

const numbered = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
const shoots = calls(['shoot', { n: 1 }]);
const shootsAgain = calls(['shoot', { n: 2 }]);
const refuses = (message: string, code: 'upstream_rejected' | 'upstream_error' = 'upstream_rejected'): ScriptStep[] => [
  new GatewayError(code, message),
];
const picturesIn = (messages: readonly ChatMessage[]): string[] => messages.flatMap(({ content }) => urlsIn(content));

function urlsIn(content: MessageContent | null): string[] {
  if (!Array.isArray(content)) return [];
  return content.flatMap((part) => ('image_url' in part ? [(part['image_url'] as { url: string }).url] : []));
}

it('puts pictures into a user message after all results, which says where they are from', async () => {
  await using gateway = await camera({ turns: [calls(['shoot', { n: 1 }], ['shoot', { n: 2 }]), says('Seen.')] });
  expect((await gateway.ask()).text).toBe('Seen.');
  const messages = gateway.model.requests[1]?.messages ?? [];
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'user']);
  expect(messages[2]?.content).toContain('[picture 1, shown below]');
  expect(messages[2]?.content).toContain('the code');
  expect(messages.at(-1)?.content).toEqual([
    { type: 'text', text: expect.stringMatching(/not from the user: picture 1 from camera\/shoot, picture 2 from camera\/shoot/) },
    { type: 'image_url', image_url: { url: picture } },
    { type: 'image_url', image_url: { url: picture } },
  ]);
});

it('puts them into the message of the result where that takes them', async () => {
  await using gateway = await camera({ turns: [shoots, says('Seen.')], pictures: { place: 'in_result', isKnownToSee: true } });
  await gateway.ask();
  const messages = gateway.model.requests[1]?.messages ?? [];
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
  expect(messages[2]?.content).toEqual([
    { type: 'text', text: expect.stringContaining('[picture 1, shown below]') },
    { type: 'image_url', image_url: { url: picture } },
  ]);
});

it('still gives them to the client as files, and the client no picture message', async () => {
  await using gateway = await camera({ turns: [shoots, says('Seen.')] });
  const seen = await gateway.ask();
  expect(seen.eventsOf('tool.result')).toMatchObject([{ files: [{ type: 'image/png', url: picture }] }]);
  expect(JSON.stringify(seen.eventsOf('tool.result')[0]?.['response'])).toContain('not shown here');
});

it('shows them in the rounds after the next one too, at the same place', async () => {
  await using gateway = await camera({ turns: [shoots, shootsAgain, says('Seen.')] });
  await gateway.ask();
  const [, second, third] = gateway.model.requests.map(({ messages }) => messages);
  expect(third?.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user', 'assistant', 'tool', 'user']);
  expect(third?.slice(0, 4)).toEqual(second);
});

it.each<[string, ToolPictures | undefined]>([
  ['a model that gets none', undefined],
  ['a model of which nobody says that it sees', { place: 'after_results', isKnownToSee: false }],
])('sends no picture to %s', async (_which, pictures) => {
  const model = new ScriptedModel(shoots, says('Read.'));
  const backend = { ...backendOf(model), ...(pictures && { toolPictures: pictures }) };
  await using gateway = await gatewayOf({
    backends: [backend],
    servers: [serverOf('camera', documentOf({ shoot: numbered }))],
    answers: { 'http://camera.test/shoot': answerOf(JSON.stringify({ shot: picture })) },
  });
  await gateway.ask();
  const messages = model.requests[1]?.messages ?? [];
  expect(picturesIn(messages)).toEqual([]);
  expect(messages.at(-1)).toMatchObject({ role: 'tool', content: expect.stringContaining('not shown here') });
});

it('sends them to such a model once the conversation itself has a picture', async () => {
  await using gateway = await camera({ turns: [shoots, says('Seen.')], pictures: { place: 'after_results', isKnownToSee: false } });
  const content = [
    { type: 'text', text: question },
    { type: 'image_url', image_url: { url: other } },
  ];
  await gateway.ask({ messages: [{ role: 'user', content }] });
  expect(picturesIn(gateway.model.requests[1]?.messages ?? [])).toEqual([other, picture]);
});

it.each([
  ['names pictures', refuses('This model does not support image input.')],
  [
    'is a fault of the server that names them',
    refuses('image input is not supported - hint: you may need to provide the mmproj', 'upstream_error'),
  ],
  ['names nothing', refuses("Unexpected role 'user' after role 'tool'")],
])('answers from the notes after a refusal that %s, and sends no picture again in the run', async (_what, refusal) => {
  await using gateway = await camera({ turns: [shoots, refusal, shootsAgain, says('Read.')] });
  const seen = await gateway.ask();
  expect(seen.text).toBe('Read.');
  expect(gateway.model.requests.map(({ messages }) => picturesIn(messages).length)).toEqual([0, 1, 0, 0]);
  expect(gateway.model.requests[2]?.messages.at(-1)).toMatchObject({ role: 'tool', content: expect.stringContaining('the code') });
  expect(seen.eventsOf('warning').map(({ code }) => code)).toEqual(['pictures_left_out']);
});

it('remembers a refusal that names pictures for the next chat of this caller', async () => {
  await using gateway = await camera({ turns: [shoots, refuses('image_url is not supported'), says('Read.'), shoots, says('Read.')] });
  await gateway.ask();
  const seen = await gateway.ask();
  expect(gateway.model.requests.map(({ messages }) => picturesIn(messages).length)).toEqual([0, 1, 0, 0, 0]);
  expect(seen.eventsOf('warning').map(({ code }) => code)).toEqual(['pictures_left_out']);
});

it('passes on an error that pictures cannot be the cause of, after one request', async () => {
  await using gateway = await camera({ turns: [shoots, [new GatewayError('upstream_rate_limited', 'Too many requests.')]] });
  expect((await gateway.ask()).raw).toContain('Too many requests.');
  expect(gateway.model.requests).toHaveLength(2);
});

it('shows the newest pictures, and notes in the place of the others', async () => {
  const many = Array.from({ length: limits.toolPictures + 2 }, (_, index) => `data:image/png;base64,${'ABCDEFGHIJKL'[index]?.repeat(400)}`);
  await using gateway = await camera({ turns: [shoots, says('Seen.')], result: many });
  await gateway.ask();
  const messages = gateway.model.requests[1]?.messages ?? [];
  expect(picturesIn(messages)).toEqual(many.slice(2));
  expect(String(messages[2]?.content).match(/\[file \d+: image\/png, 1 kB, not shown here\]/g)).toHaveLength(2);
});

it('shows no file that is not a picture for models', async () => {
  const drawing = `data:image/svg+xml;base64,${'A'.repeat(400)}`;
  await using gateway = await camera({ turns: [shoots, says('Read.')], result: [drawing, picture, 'the code'] });
  await gateway.ask();
  expect(picturesIn(gateway.model.requests[1]?.messages ?? [])).toEqual([picture]);
});

it('puts them into the message of the user where results are, and into no selection', async () => {
  await using gateway = await camera({ turns: [selects(['shoot', { n: 1 }]), says('Seen.')] });
  expect((await gateway.ask({ params: { function_calling: 'default' } })).text).toBe('Seen.');
  const [selection, answer] = gateway.model.requests.map(({ messages }) => messages);
  expect(picturesIn(selection ?? [])).toEqual([]);
  expect(answer).toMatchObject([
    { role: 'user', content: [{ type: 'text', text: expect.stringContaining('the code') }, { type: 'text' }, { type: 'image_url' }] },
  ]);
});

it('answers from the notes in that mode too, if they are refused', async () => {
  await using gateway = await camera({ turns: [selects(['shoot', { n: 1 }]), refuses('no images here'), says('Read.')] });
  expect((await gateway.ask({ params: { function_calling: 'default' } })).text).toBe('Read.');
  expect(gateway.model.requests.map(({ messages }) => picturesIn(messages).length)).toEqual([0, 1, 0]);
});

it('puts them beside the observations of a model that works step by step', async () => {
  const acts: ScriptStep[] = [
    { type: 'text', text: 'Thought: look\nAction: shoot\nAction Input: {"n": 1}\n' },
    { type: 'finish', reason: 'stop' },
  ];
  await using gateway = await camera({ turns: [acts, says('Final Answer: Seen.')] });
  expect((await gateway.ask({ params: { function_calling: 'react' } })).text).toBe('Seen.');
  const messages = gateway.model.requests[1]?.messages ?? [];
  expect(picturesIn(messages)).toEqual([picture]);
  expect(messages.findLast(({ role }) => role === 'user')?.content).toContainEqual({ type: 'image_url', image_url: { url: picture } });
});
