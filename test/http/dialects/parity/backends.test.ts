import { afterAll, describe, expect, it } from 'vitest';
import { backendKinds } from '../../../../src/core/models/backend-config.ts';
import type { BackendKind } from '../../../../src/core/models/backend-config.ts';
import type { JsonObject } from '../../../../src/shared/json/json.ts';
import type { ModelBackend } from '../../../../src/core/models/model.ts';
import type { ScriptStep } from '../../../_support/scripted-model.ts';
import { listen } from '../../../_support/build-app.ts';
import { connectFakeBrowser } from '../../../_support/fake-browser.ts';
import { gatewayOf, sharedGateway } from '../../../gateway/gateway.ts';
import type { Gateway } from '../../../gateway/gateway.ts';
import type { DialectClient } from './chat.ts';
import { dialectClients, servedClients } from './clients.ts';
import { comparable, play, toAsked } from './play.ts';
import { isRemembered, scenarios, servers, toolAnswers } from './scenarios.ts';
import type { Scenario } from './scenarios.ts';
import { wireBackendOf } from './wire-backends.ts';
import type { WireBackend } from './wire-backends.ts';

/** A gateway before a server of one kind that gets a new script for each test. */
interface Before {
  gateway: Promise<Gateway>;
  follow(turns: ScriptStep[][]): WireBackend;
}

function gatewayBefore(kind: BackendKind): Before {
  let current = wireBackendOf(kind, []);
  const backend: ModelBackend = { answer: (request, emit) => current.backend.backend.answer(request, emit) };
  return {
    gateway: gatewayOf({ backends: [{ ...current.backend, backend }], servers, answers: toolAnswers }),
    follow: (turns) => (current = wireBackendOf(kind, turns)),
  };
}

/** Where the script has what a server of the kind cannot say: its arguments are objects. */
const unsaid: Record<string, readonly BackendKind[]> = { 'damaged arguments': ['anthropic', 'ollama'] };

const played = Object.entries(scenarios).filter(
  // Faults in the middle of an answer are in the suites of each kind, and what is remembered does not depend on the kind.
  ([, scenario]) =>
    !/cut its answer/.test(String(scenario.answer.error)) && (!isRemembered(scenario) || scenario.chat.functions !== undefined),
);

/** Where a kind is asked otherwise, as its API wants it: without `tool_choice` functions are left out instead, and for Ollama files are in the question. */
const askedOtherwise: Record<string, readonly BackendKind[]> = { 'no function': ['ollama'], 'inline files': ['ollama'] };

const [model] = dialectClients as [DialectClient];

const scripted = sharedGateway({ servers, answers: toolAnswers });
afterAll(scripted.close);

/** What a model is asked in a scenario, whatever its kind. */
async function questionsOf(scenario: Scenario): Promise<JsonObject[]> {
  await using gateway = await (isRemembered(scenario)
    ? gatewayOf({ turns: scenario.turns(), servers, answers: toolAnswers })
    : scripted.with(...scenario.turns()));
  const asked = (): JsonObject[] => gateway.model.requests.map(toAsked);
  const account = comparable(await play({ gateway, asked }, scenario, { client: model, stream: false }), scenario);
  return withoutLoss(account['asked'] as JsonObject[]);
}

/** Messages and functions alone: how parameters are said, and what stands for arguments that are no JSON, differs between kinds. */
function withoutLoss(asked: readonly JsonObject[]): JsonObject[] {
  return asked.map(({ messages, tools = [] }) => ({
    messages: (messages as JsonObject[]).map((message) => ({
      ...message,
      calls: (message['calls'] as JsonObject[]).map(({ name = '', args }) => ({ name, args: typeof args === 'object' ? args : {} })),
    })),
    tools,
  }));
}

/** What a frame of a socket can ask: one question, with the gateway's own fields. */
const ofOneQuestion = played.filter(([, { chat, answer }]) => {
  const { turns, fields: _fields, ...more } = chat;
  return turns.length === 1 && Object.keys(more).length === 0 && answer.error === undefined && !('image' in (turns[0] ?? {}));
});

describe.each(backendKinds)('before a backend of the kind %s', (kind) => {
  const before = gatewayBefore(kind);
  let address: Promise<string> | undefined;
  afterAll(async () => (await before.gateway).app.close());

  async function account(scenario: Scenario, client: DialectClient, stream: boolean): Promise<JsonObject> {
    const wire = before.follow(scenario.turns());
    const gateway = { ...(await before.gateway), sent: [] as Gateway['sent'] };
    const sent = (await before.gateway).sent;
    const first = sent.length;
    const { answers, asked } = await play({ gateway, asked: () => wire.asked as unknown as JsonObject[] }, scenario, { client, stream });
    const made = sent.slice(first).filter(({ method }) => method === 'POST');
    const seen = made.map(({ url, body }) => ({ path: new URL(url).pathname, body: JSON.parse(String(body)) as unknown }));
    return { ...comparable({ answers, asked, sent: seen }, scenario), last: answers.at(-1) as unknown as JsonObject };
  }

  for (const [name, scenario] of played.filter(([name]) => unsaid[name]?.includes(kind) !== true)) {
    let expected: JsonObject | undefined;

    it(`${name}: gives what it should`, async () => {
      const { last, sent, asked } = await account(scenario, model, false);
      const { error = '', calls, ...rest } = scenario.answer;
      const wanted = calls?.map((call) => ({ ...call, id: expect.any(String) as unknown }));
      expect(last).toMatchObject({ ...rest, ...(wanted && { calls: wanted }) });
      expect((last as JsonObject)['error'] ?? '').toMatch(error);
      const isOwn = askedOtherwise[name]?.includes(kind) === true;
      expect(isOwn ? [] : withoutLoss(asked as JsonObject[])).toEqual(isOwn ? [] : await questionsOf(scenario));
      expect((sent as { path: string }[]).map(({ path }) => path)).toEqual(scenario.sent ?? []);
    });

    for (const client of servedClients)
      for (const stream of [false, true])
        it(`${name}: is the same through ${client.name}, ${stream ? 'as a stream' : 'in one piece'}`, async () => {
          expected ??= await account(scenario, model, false);
          const { last: _mine, ...mine } = await account(scenario, client, stream);
          const { last: _theirs, ...theirs } = expected;
          expect(mine).toEqual(theirs);
        });
  }

  it.each(ofOneQuestion.filter(([name]) => unsaid[name]?.includes(kind) !== true))(
    '%s: is the same over a websocket',
    async (name, scenario) => {
      const { answer, chat } = scenario;
      const [turn] = chat.turns;
      const wire = before.follow(scenario.turns());
      const gateway = await before.gateway;
      const first = gateway.sent.length;
      address ??= listen(gateway.app);
      const browser = await connectFakeBrowser({ url: await address });
      browser.send({ type: 'message', data: { model: 'model', content: turn?.role === 'user' ? turn.text : '', ...chat.fields } });
      const { data } = await browser.next('assistant_end');
      await browser.close();
      const made = gateway.sent.slice(first).filter(({ method }) => method === 'POST');
      expect(data).toMatchObject(answer.text === undefined ? {} : { content: answer.text });
      expect(made.map(({ url }) => new URL(url).pathname)).toEqual(scenario.sent ?? []);
      const isOwn = askedOtherwise[name]?.includes(kind) === true;
      expect(isOwn ? [] : withoutLoss(wire.asked as unknown as JsonObject[])).toEqual(isOwn ? [] : await questionsOf(scenario));
    },
  );
});

it('enough scenarios can be played over a websocket', () => {
  expect(ofOneQuestion.length).toBeGreaterThan(10);
});
