import type { JsonObject } from '../../../../src/shared/json/json.ts';
import { GatewayError } from '../../../../src/core/errors.ts';
import type { ToolServerRecord } from '../../../../src/core/stores/registry.ts';
import { calls, says } from '../../../_support/scripted-model.ts';
import type { ScriptStep } from '../../../_support/scripted-model.ts';
import type { ScriptedAnswer } from '../../../tools/scripted-send.ts';
import { answerOf, documentOf, selects, serverOf } from '../../../gateway/gateway.ts';
import type { Answer, Call, Chat } from './chat.ts';

/** One chat, perhaps of several requests, and what must come of it in every dialect. */
export interface Scenario {
  turns: () => ScriptStep[][];
  chat: Chat;
  /** What the answer to its last request has. */
  answer: Partial<Omit<Answer, 'error'>> & { error?: RegExp };
  /** Paths of the calls at tool servers, in order. Default: none. */
  sent?: string[];
  /** The next request, made of the answer before it; the one after that has no next. */
  next?: (chat: Chat, answer: Answer) => Chat;
  /** Decides on what waits, instead of a next request. */
  approves?: boolean;
  /** The caller connects to the server `mail`, before the next request or, without one, before the run is resumed. */
  connects?: true;
  /** Whether a stream has a status and a body of its own, because it fails before its first byte. */
  failsEarly?: boolean;
}

/** What waits, or goes on later, is remembered: the same chat through another dialect would meet it. */
export function isRemembered({ next, approves, connects }: Scenario): boolean {
  return next !== undefined || approves !== undefined || connects === true;
}

const object = (properties: JsonObject, required: string[] = []): JsonObject => ({ type: 'object', properties, required });
const place = object({ city: { type: 'string' } }, ['city']);
const city = { city: 'Rome' };
export const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

export const servers: ToolServerRecord[] = [
  serverOf('town', documentOf({ weather: place, time: place, broken: place, slow: place })),
  serverOf('bank', documentOf({ pay: object({ amount: { type: 'integer' } }, ['amount']) }), {
    extra: { config: { needs_approval: true } },
  }),
  serverOf('mail', documentOf({ send: object({ to: { type: 'string' } }) }), { name: 'Mail', authType: 'bearer', isPerUser: true }),
];
export const toolAnswers: Record<string, ScriptedAnswer | JsonObject> = {
  'http://town.test/weather': { degrees: 21 },
  'http://town.test/time': { time: 'noon' },
  'http://town.test/broken': answerOf('{"detail":"no such city"}', { status: 500 }),
  'http://town.test/slow': ({ signal }) =>
    new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error))),
  'http://bank.test/pay': { paid: true },
  'http://mail.test/send': { sent: true },
};

const ask = (text: string, more: Partial<Chat> = {}): Chat => ({ turns: [{ role: 'user', text }], ...more });
const none = { fields: { tool_ids: [] } };
const town = { fields: { tool_ids: ['server:town'] } };
const bank = { fields: { tool_ids: ['server:bank'] } };
const townAndMail = { fields: { tool_ids: ['server:town', 'server:mail'] } };
const lookUp = { name: 'look_up', description: 'Looks a word up', parameters: object({ word: { type: 'string' } }, ['word']) };
const called: Call = { id: 'call_earlier', name: 'look_up', args: { word: 'toll' } };
const usage: ScriptStep = { type: 'usage', usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 } };
const withResult = (chat: Chat, { text, calls: wanted }: Answer): Chat => ({
  ...chat,
  turns: [
    ...chat.turns,
    { role: 'assistant', ...(text !== '' && { text }), calls: wanted },
    ...wanted.map((call) => ({ role: 'result', of: call, text: `${call.name}: done` }) as const),
  ],
});

export const scenarios: Record<string, Scenario> = {
  'a plain chat, with its tokens': {
    turns: () => [[usage, ...says('Hello.')]],
    chat: ask('Hi!', none),
    answer: { text: 'Hello.', finish: 'stop', tokens: { in: 11, out: 7 } },
  },
  'a system prompt and a history': {
    turns: () => [says('Still Rome.')],
    chat: {
      system: 'Be short.',
      turns: [
        { role: 'user', text: 'Where?' },
        { role: 'assistant', text: 'Rome.' },
        { role: 'user', text: 'Sure?' },
      ],
      ...none,
    },
    answer: { text: 'Still Rome.' },
  },
  'parameters of the model': {
    turns: () => [says('Ok.')],
    chat: ask('Go', { maxTokens: 55, temperature: 0.5, ...none }),
    answer: { text: 'Ok.' },
  },
  'one call': {
    turns: () => [calls(['weather', city]), says('21 degrees.')],
    chat: ask('Weather?', town),
    answer: { text: '21 degrees.', finish: 'stop', calls: [], sources: ['TOOL:town/weather'] },
    sent: ['/weather'],
  },
  'text before a call': {
    turns: () => [[{ type: 'text', text: 'Let me see.' }, ...calls(['weather', city])], says('21 degrees.')],
    chat: ask('Weather?', town),
    answer: { finish: 'stop' },
    sent: ['/weather'],
  },
  'two calls at once': {
    turns: () => [calls(['weather', city], ['time', city]), says('21 degrees at noon.')],
    chat: ask('Weather and time?', town),
    answer: { text: '21 degrees at noon.', sources: ['TOOL:town/weather', 'TOOL:town/time'] },
    sent: ['/weather', '/time'],
  },
  'two rounds': {
    turns: () => [calls(['weather', city]), calls(['time', city]), says('Noon, 21 degrees.')],
    chat: ask('Weather, then time?', town),
    answer: { text: 'Noon, 21 degrees.' },
    sent: ['/weather', '/time'],
  },
  'a failing tool': {
    turns: () => [calls(['broken', city]), says('It failed.')],
    chat: ask('Go', town),
    answer: { text: 'It failed.' },
    sent: ['/broken'],
  },
  'a tool that takes too long': {
    turns: () => [calls(['slow', city]), says('Too slow.')],
    chat: ask('Go', { fields: { ...town.fields, params: { tool_timeout_ms: 30 } } }),
    answer: { text: 'Too slow.' },
    sent: ['/slow'],
  },
  'damaged arguments': { turns: () => [calls(['weather', '{"city":']), says('Sorry.')], chat: ask('Go', town), answer: { text: 'Sorry.' } },
  'an unknown function': { turns: () => [calls(['nothing', {}]), says('Sorry.')], chat: ask('Go', town), answer: { text: 'Sorry.' } },
  'no words after a call': {
    turns: () => [calls(['weather', city]), [{ type: 'finish', reason: 'stop' }], says('21 degrees.')],
    chat: ask('Go', town),
    answer: { text: '21 degrees.' },
    sent: ['/weather'],
  },
  'a call that has leaked into the text': {
    turns: () => [says('<tool_call>{"name":"weather","arguments":{"city":"Rome"}}</tool_call>'), says('21 degrees.')],
    chat: ask('Go', town),
    answer: { text: '21 degrees.' },
    sent: ['/weather'],
  },
  'a limit of rounds': {
    turns: () => [calls(['weather', city]), says('That is all.')],
    chat: ask('Go', { fields: { ...town.fields, params: { max_tool_rounds: 1 } } }),
    answer: { text: 'That is all.' },
    sent: ['/weather'],
  },
  'a selection by a prompt': {
    turns: () => [selects(['weather', city]), says('21 degrees.')],
    chat: ask('Weather?', { fields: { ...town.fields, params: { function_calling: 'default' } } }),
    answer: { text: '21 degrees.', sources: ['TOOL:town/weather'] },
    sent: ['/weather'],
  },
  'reasoning and acting': {
    turns: () => [says('Thought: look\nAction: weather\nAction Input: {"city":"Rome"}'), says('Thought: done\nFinal Answer: 21 degrees.')],
    chat: ask('Weather?', { thinks: true, fields: { ...town.fields, params: { function_calling: 'react' } } }),
    answer: { text: '21 degrees.' },
    sent: ['/weather'],
  },
  "the caller's function": {
    turns: () => [calls(['look_up', { word: 'toll' }])],
    chat: ask('What is a toll?', { functions: [lookUp], ...none }),
    answer: { text: '', finish: 'calls', calls: [{ id: '', name: 'look_up', args: { word: 'toll' } }] },
  },
  "results of the caller's function": {
    turns: () => [says('A fee.')],
    chat: {
      functions: [lookUp],
      turns: [
        { role: 'user', text: 'What is a toll?' },
        { role: 'assistant', text: 'I look it up.', calls: [called] },
        { role: 'result', of: called, text: 'a fee' },
      ],
      ...none,
    },
    answer: { text: 'A fee.', finish: 'stop' },
  },
  "the caller's function beside the gateway's": {
    turns: () => [calls(['weather', city], ['look_up', { word: 'toll' }]), says('All is done.')],
    chat: ask('Both!', { functions: [lookUp], ...town }),
    next: withResult,
    answer: { text: 'All is done.', finish: 'stop' },
    sent: ['/weather'],
  },
  'a forced function': {
    turns: () => [calls(['look_up', { word: 'toll' }])],
    chat: ask('Go', { functions: [lookUp], choice: { function: 'look_up' }, ...none }),
    answer: { finish: 'calls' },
  },
  'any function': {
    turns: () => [calls(['look_up', { word: 'x' }])],
    chat: ask('Go', { functions: [lookUp], choice: 'required', ...none }),
    answer: { finish: 'calls' },
  },
  'no function': { turns: () => [says('No.')], chat: ask('Go', { functions: [lookUp], choice: 'none', ...town }), answer: { text: 'No.' } },
  'an approved call': {
    turns: () => [calls(['pay', { amount: 5 }]), says('Paid.')],
    chat: ask('Pay 5', bank),
    approves: true,
    answer: { text: 'Paid.', finish: 'stop', waiting: [], sources: ['TOOL:bank/pay'] },
    sent: ['/pay'],
  },
  'a call that waits until its caller has connected': {
    turns: () => [calls(['weather', city], ['send', { to: 'bob' }]), says('Sent.')],
    chat: ask('Send it', townAndMail),
    connects: true,
    answer: { text: 'Sent.', finish: 'stop', connect: {}, sources: ['TOOL:town/weather', 'TOOL:mail/send'] },
    sent: ['/weather', '/send'],
  },
  'a call that waits until its caller has connected, who just writes on': {
    turns: () => [calls(['weather', city], ['send', { to: 'bob' }]), calls(['send', { to: 'bob' }]), says('Sent.')],
    chat: ask('Send it', townAndMail),
    connects: true,
    next: (chat, { text }) => ({ ...chat, turns: [...chat.turns, { role: 'assistant', text }, { role: 'user', text: 'done' }] }),
    answer: { text: 'Sent.', finish: 'stop', connect: {}, sources: ['TOOL:mail/send'] },
    sent: ['/weather', '/send'],
  },
  'a call that waits until its caller has connected, who writes on without': {
    turns: () => [calls(['send', { to: 'bob' }]), says('Connect first.')],
    chat: ask('Send it', townAndMail),
    next: (chat, { text }) => ({ ...chat, turns: [...chat.turns, { role: 'assistant', text }, { role: 'user', text: 'Why?' }] }),
    answer: { text: 'Connect first.', finish: 'stop', connect: {} },
  },
  'a rejected call': {
    turns: () => [calls(['pay', { amount: 5 }]), says('Then not.')],
    chat: ask('Pay 5', bank),
    approves: false,
    answer: { text: 'Then not.', finish: 'stop' },
  },
  'an image': {
    turns: () => [says('A pixel.')],
    chat: { turns: [{ role: 'user', text: 'What is it?', image: pixel }], ...none },
    answer: { text: 'A pixel.' },
  },
  reasoning: {
    turns: () => [[{ type: 'reasoning', text: 'Two and ' }, { type: 'reasoning', text: 'two.' }, ...says('Four.')]],
    chat: ask('2 + 2?', { thinks: true, ...none }),
    answer: { text: 'Four.', reasoning: 'Two and two.' },
  },
  'structured output': {
    turns: () => [says('{"degrees":21}')],
    chat: ask('Weather?', {
      schema: { type: 'object', properties: { degrees: { type: 'integer' } }, required: ['degrees'], additionalProperties: false },
      ...none,
    }),
    answer: { text: '{"degrees":21}' },
  },
  'an answer that is cut by its length': {
    turns: () => [
      [
        { type: 'text', text: 'Once upon' },
        { type: 'finish', reason: 'length' },
      ],
    ],
    chat: ask('Tell me', { maxTokens: 2, ...none }),
    answer: { text: 'Once upon', finish: 'length' },
  },
  'inline files': {
    turns: () => [says('It says hello.')],
    chat: ask('What does it say?', { fields: { tool_ids: [], files: [{ type: 'text', name: 'note.txt', content: 'hello' }] } }),
    answer: { text: 'It says hello.', sources: ['note.txt'] },
  },
  'a tool server of the request that is not there': {
    turns: () => [says('Without it, then.')],
    chat: ask('Go', { fields: { tool_ids: [], tool_servers: [{ url: 'http://gone.test' }] } }),
    answer: { text: 'Without it, then.' },
  },
  'an unknown model': { turns: () => [], chat: ask('Hi', { model: 'nobody' }), answer: { status: 404, error: /nobody/ }, failsEarly: true },
  'an unknown tool': {
    turns: () => [],
    chat: ask('Hi', { fields: { tool_ids: ['server:nothing'] } }),
    answer: { status: 400, error: /nothing/ },
    failsEarly: true,
  },
  'a field of a wrong type': {
    turns: () => [],
    chat: ask('Hi', { fields: { tool_ids: 5 } }),
    answer: { status: 400, error: /tool_ids/ },
    failsEarly: true,
  },
  'a backend that refuses': {
    turns: () => [[new GatewayError('upstream_rate_limited', 'The backend has too much to do.', { retryAfter: '7' })]],
    chat: ask('Hi', none),
    answer: { status: 429, error: /too much to do/ },
    failsEarly: true,
  },
  'a backend that breaks after the first words': {
    turns: () => [[{ type: 'text', text: 'So far' }, new GatewayError('upstream_incomplete', 'The backend has cut its answer.')]],
    chat: ask('Hi', none),
    answer: { error: /cut its answer/, finish: undefined },
  },
  'a backend that breaks after a call': {
    turns: () => [
      calls(['weather', city]),
      [{ type: 'text', text: 'It' }, new GatewayError('upstream_incomplete', 'The backend has cut its answer.')],
    ],
    // Played many times by one caller, and each time anew.
    chat: ask('Hi', { fields: { ...town.fields, params: { resume_failed: false } } }),
    answer: { error: /cut its answer/ },
    sent: ['/weather'],
  },
};
