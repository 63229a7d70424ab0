import { expect, it } from 'vitest';
import { textOf } from '../../../src/core/chat/chat.ts';
import type { ModelEvent } from '../../../src/core/chat/chat.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import type { ModelRequest } from '../../../src/core/models/model.ts';
import { memoryRegistry } from '../../_support/memory-stores.ts';
import { backendOf, testApp } from '../../_support/build-app.ts';
import { act, generateRounds, newWorld, replayDocument, shownWorld, startReplayServer } from '../../_support/replay-server.ts';
import type { ReplayedCall, ReplayServer } from '../../_support/replay-server.ts';
import { readSeen, serverOf } from '../gateway.ts';
import type { Seen } from '../gateway.ts';
import { GeneratedModel } from '../../_support/scripted-model.ts';

/** Says the rounds of a conversation, which its first message names; asked without functions for a selection, it writes the first round down. */
class Replayer extends GeneratedModel {
  readonly #rounds = new Map<string, ReplayedCall[][]>();

  learn(id: string, rounds: ReplayedCall[][]): void {
    this.#rounds.set(id, structuredClone(rounds));
  }

  async *events(request: ModelRequest): AsyncGenerator<ModelEvent, void, undefined> {
    const said = request.messages.map(({ content }) => textOf(content)).join('\n');
    const id = /conversation-\S+/.exec(said)?.[0] ?? '';
    const purpose = request.purpose?.type;
    const round = purpose === 'answer' || purpose === 'last_answer' ? undefined : this.#rounds.get(id)?.shift();
    if (round === undefined) {
      yield { type: 'text', text: 'Done.' };
      return yield { type: 'finish', reason: 'stop' };
    }
    if (purpose === 'selection') {
      yield { type: 'text', text: JSON.stringify({ tool_calls: round.map(([name, parameters]) => ({ name, parameters })) }) };
      return yield { type: 'finish', reason: 'stop' };
    }
    for (const [index, [name, args]] of round.entries())
      yield { type: 'tool-call', call: { id: `call-${index}`, name, arguments: JSON.stringify(args) } };
    yield { type: 'finish', reason: 'tool_calls' };
  }
}

interface Replaying {
  server: ReplayServer;
  /** Of the connection. */
  config?: JsonObject;
}

async function openGateway({ server, config = {} }: Replaying) {
  const model = new Replayer();
  const record = serverOf('worlds', replayDocument(), {
    url: server.url,
    headers: { 'x-conversation': '{{CHAT_ID}}' },
    extra: { config },
  });
  const app = await testApp({}, { backends: [backendOf(model)], registry: memoryRegistry([record]) });
  return {
    async replay(id: string, rounds: ReplayedCall[][], mode: string): Promise<Omit<Seen, 'status'>> {
      model.learn(id, rounds);
      const payload = {
        model: 'model',
        chat_id: id,
        messages: [{ role: 'user', content: `This is ${id} now` }],
        stream: true,
        stream_options: { include_events: true },
        params: { function_calling: mode, max_tool_rounds: 256 },
      };
      const headers = { host: '127.0.0.1:8080' };
      const { body } = await app.server.inject({ method: 'POST', url: '/v1/chat/completions', headers, payload });
      return readSeen(body);
    },
    [Symbol.asyncDispose]: () => app.close(),
  };
}

const seeds = Array.from({ length: 10 }, (_, seed) => seed);
/** In the order of the calls: results of calls that run together are told as they come. */
function outcomesIn(seen: Omit<Seen, 'status'>): unknown[] {
  const results = Map.groupBy(seen.eventsOf('tool.result'), ({ id }) => id);
  return seen.eventsOf('tool.call').map(({ id }) => {
    // A model may use an id again in a later round.
    const { tool, response, error } = results.get(id)?.shift() ?? {};
    return { tool, response, error: (error as JsonObject | undefined)?.['code'] };
  });
}

/** One call after another, without a gateway. */
function worldAfter(calls: readonly ReplayedCall[]): unknown {
  const world = newWorld();
  for (const call of calls) act(world, call);
  return shownWorld(world);
}

it('a conversation with several calls a round ends as with one call a round, with the same results and the same refusals', async () => {
  await using server = await startReplayServer(1);
  await using gateway = await openGateway({ server });
  const compared = await Promise.all(
    seeds.map(async (seed) => {
      const rounds = generateRounds(seed);
      const together = await gateway.replay(`conversation-${seed}-together`, rounds, 'native');
      const single = rounds.flat().map((call) => [call]);
      const apart = await gateway.replay(`conversation-${seed}-apart`, single, 'native');
      // Three rounds in a row of nothing but refusals end the calling; several calls a round hardly ever come to that.
      if (apart.eventsOf('limit.reached').length > 0) return false;
      const world = (kind: string): unknown => shownWorld(server.worldOf(`conversation-${seed}-${kind}`));
      expect(outcomesIn(together), `seed ${seed}`).toEqual(outcomesIn(apart));
      expect(world('together'), `seed ${seed}`).toEqual(world('apart'));
      return true;
    }),
  );
  expect(compared.filter(Boolean).length).toBeGreaterThan(seeds.length / 2);
});

it.each(['native', 'default'])('where equal calls may repeat, the end is that of one call after another (%s)', async (mode) => {
  await using server = await startReplayServer(2);
  await using gateway = await openGateway({ server, config: { repeats: true } });
  await Promise.all(
    seeds.map(async (seed) => {
      // A selection is a single round.
      const rounds = mode === 'default' ? [generateRounds(seed).flat()] : generateRounds(seed);
      await gateway.replay(`conversation-${seed}`, rounds, mode);
      expect(shownWorld(server.worldOf(`conversation-${seed}`)), `seed ${seed}`).toEqual(worldAfter(rounds.flat()));
    }),
  );
});

it('with parallel: true the order of the calls is not kept, and conversations end otherwise', async () => {
  await using server = await startReplayServer(3);
  await using gateway = await openGateway({ server, config: { repeats: true, parallel: true } });
  const isOther = await Promise.all(
    seeds.map(async (seed) => {
      const rounds = generateRounds(seed);
      await gateway.replay(`conversation-${seed}`, rounds, 'native');
      const ended = JSON.stringify(shownWorld(server.worldOf(`conversation-${seed}`)));
      return ended !== JSON.stringify(worldAfter(rounds.flat()));
    }),
  );
  expect(isOther.filter(Boolean).length).toBeGreaterThan(seeds.length / 4);
});

const nine = [Array.from({ length: 9 }, (): ReplayedCall => ['deposit', { account: 'a', amount: 1 }])];

it.each(['native', 'default'])('nine equal calls that each give something new all run (%s)', async (mode) => {
  await using server = await startReplayServer(4);
  await using gateway = await openGateway({ server });
  await gateway.replay('conversation-nine', nine, mode);
  expect(server.worldOf('conversation-nine').accounts.get('a')).toBe(9);
});

it.each(['native', 'default'])('of nine equal calls that give nothing new two run, and seven are told by their code (%s)', async (mode) => {
  await using server = await startReplayServer(5);
  await using gateway = await openGateway({ server });
  const rounds = [
    [['mkdir', { path: '/d' }], ...Array.from({ length: 9 }, (): ReplayedCall => ['touch', { path: '/d/f' }])] as ReplayedCall[],
  ];
  const seen = await gateway.replay('conversation-touch', rounds, mode);
  const codes = outcomesIn(seen).map((outcome) => (outcome as { error?: string }).error);
  expect(codes).toEqual([undefined, undefined, undefined, ...Array.from({ length: 7 }, () => 'duplicate_call_blocked')]);
});
