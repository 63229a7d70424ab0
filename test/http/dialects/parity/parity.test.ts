import { afterAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/shared/json/json.ts';
import { dialects } from '../../../../src/http/dialects/dialects.ts';
import { gatewayOf, sharedGateway } from '../../../gateway/gateway.ts';
import type { DialectClient } from './chat.ts';
import { dialectClients, servedClients } from './clients.ts';
import { comparable, play, toAsked } from './play.ts';
import type { Account } from './play.ts';
import { isRemembered, scenarios, servers, toolAnswers } from './scenarios.ts';
import type { Scenario } from './scenarios.ts';

const shared = sharedGateway({ servers, answers: toolAnswers });
afterAll(shared.close);

async function playBefore(scenario: Scenario, client: DialectClient, stream: boolean): Promise<Account> {
  const turns = scenario.turns();
  await using gateway = await (isRemembered(scenario) ? gatewayOf({ turns, servers, answers: toolAnswers }) : shared.with(...turns));
  return await play({ gateway, asked: () => gateway.model.requests.map(toAsked) }, scenario, { client, stream });
}

const [model] = dialectClients as [DialectClient];

describe.each(Object.entries(scenarios))('%s', (_name, scenario) => {
  let expected: JsonObject | undefined;

  it('gives what it should', async () => {
    const { answers, sent } = await playBefore(scenario, model, false);
    const { error = '', calls, ...rest } = scenario.answer;
    const wanted = calls?.map((call) => ({ ...call, id: expect.any(String) as unknown }));
    const answer = answers.at(-1);
    expect(answer).toMatchObject({ ...rest, ...(wanted && { calls: wanted }) });
    expect(answer?.error ?? '').toMatch(error);
    expect(sent.map(({ path }) => path)).toEqual(scenario.sent ?? []);
  });

  for (const client of servedClients) {
    for (const stream of [false, true]) {
      if (client === model && !stream) continue;
      it(`is the same through ${client.name}, ${stream ? 'as a stream' : 'in one piece'}`, async () => {
        expected ??= comparable(await playBefore(scenario, model, false), scenario);
        expect(comparable(await playBefore(scenario, client, stream), scenario)).toEqual(expected);
      });
    }
  }
});

it('every dialect with functions takes part', () => {
  const withFunctions = dialects.filter(({ name }) => name !== 'ollama-generate' && name !== 'completions');
  const clientsOf = withFunctions.map(({ paths }) => dialectClients.filter(({ path }) => paths.includes(path)).length);
  expect(clientsOf).toEqual(withFunctions.map(() => 1));
});
