import { describe, expect, it, onTestFinished } from 'vitest';
import type { Caller } from '../../../src/core/callers/caller.ts';
import { limits } from '../../../src/core/limits.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { openOffice } from '../../http/dialects/responses/stored-fixture.ts';
import { ada, recordingSocket, startRelay } from '../../relay/relay-fixture.ts';
import { backgroundResponsesPerKey } from '../../../src/http/dialects/responses/stored/background-responses.ts';

describe('a key with all its people has so many', () => {
  it('responses in the background', async () => {
    const hangs = (): ScriptStep[] => [new Promise(() => undefined)];
    const most = backgroundResponsesPerKey;
    const { gateway, newKey } = await openOffice({ turns: Array.from({ length: most + 1 }, hangs) });
    const users = { from: 'header', name: 'x-user' };
    const [crowded, other] = [await newKey({ users }), await newKey({ users })];
    const ask = async (key: string, user: string): Promise<number> => {
      const headers = { 'x-api-key': key, 'x-user': user };
      const sent = {
        method: 'POST',
        url: '/v1/responses',
        headers,
        payload: { model: 'model', input: 'Why?', background: true, tools: [] },
      } as const;
      return (await gateway.app.server.inject(sent)).statusCode;
    };
    for (let number = 0; number < most; number += 1) expect(await ask(crowded.key, `person ${number}`)).toBe(200);
    expect(await ask(crowded.key, 'somebody else')).toBe(429);
    expect(await ask(other.key, 'ada')).toBe(200);
  });

  it('sessions that wait for their browser, of which the oldest is given up', async () => {
    const door = startRelay();
    onTestFinished(() => door.close());
    const open = (caller: Caller): ReturnType<typeof door.open> => door.open({ caller, socket: recordingSocket() });
    const personOf = (key: string, number: number): Caller => ({ ...ada, id: `${key}/${number}` });
    const other = await open(personOf('key_2', 0));
    other.disconnected();
    const first = await open(personOf('key_1', 0));
    first.disconnected();
    for (let number = 1; number <= limits.socketsPerKey; number += 1) (await open(personOf('key_1', number))).disconnected();
    expect(door.endOf(first.id, personOf('key_1', 0))).toBeUndefined();
    expect(door.endOf(other.id, personOf('key_2', 0))?.aborted).toBe(false);
    expect(door.counts().sessions).toBe(limits.socketsPerKey + 1);
  });
});
