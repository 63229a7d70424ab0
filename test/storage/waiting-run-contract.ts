import { isDeepStrictEqual } from 'node:util';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ApprovalAnswer } from '../../src/core/user-input/approval.ts';
import { failedRunPrefix } from '../../src/core/runs/suspended-run.ts';
import type {
  FailedRun,
  RunAwaitingApproval,
  SaveResult,
  WaitingCall,
  WaitingRun,
  WaitingRunStore,
} from '../../src/core/runs/suspended-run.ts';
import { chatRequest } from '../_support/tools.ts';

export const noBounds = { maxRunCharacters: 10_000_000, maxOfCaller: 100, maxCharacters: 10_000_000 };
const refused: SaveResult = { type: 'refused' };
const kept = (...givenUp: string[]): SaveResult => ({ type: 'saved', givenUp });
const approve: ApprovalAnswer = { decision: 'approve' };
const reject: ApprovalAnswer = { decision: 'reject', message: "it's ünïcode\u2028" };

export function waitingCall(id: string): WaitingCall {
  const fields = { tool: 'pay', label: 'bank/pay', args: { amount: 5 }, parameters: { type: 'object' }, definition: 'pay' };
  return { id, callId: id, ...fields };
}

export function waitingRun(run: Partial<RunAwaitingApproval> = {}): RunAwaitingApproval {
  const request = JSON.parse(JSON.stringify(chatRequest())) as WaitingRun['request'];
  const fields = { callerId: 'ada', waitId: 'wait-1', expires: 5_000, model: 'model', sources: [], loop: { version: 1 } };
  return { id: 'run-a', ...fields, request, calls: [waitingCall('one'), waitingCall('two')], ...run };
}

function failedRun(run: Partial<FailedRun> = {}): FailedRun {
  const { calls: _calls, connect: _connect, ...state } = waitingRun();
  return { ...state, id: `${failedRunPrefix}run-f`, calls: [], failed: { key: 'key', ran: ['bank/pay'] }, ...run };
}

/** What every store of waiting runs does, wherever it keeps them. */
export function describeWaitingRunStore(name: string, createStore: () => WaitingRunStore): void {
  describe(`waiting runs in ${name}`, () => {
    let store: WaitingRunStore;
    beforeEach(() => {
      store = createStore();
    });
    const place = (callId: string, fields: object = {}) => ({ id: 'run-a', waitId: 'wait-1', callId, ...fields });

    it('are found with all their fields, share nothing with what was kept, and are not found by a name every object has', async () => {
      const run = waitingRun();
      expect(await store.save(run, noBounds)).toEqual(kept());
      run.calls.pop();
      expect(await store.find('run-a')).toEqual({ callerId: 'ada', type: 'open', answers: new Map(), run: waitingRun() });
      expect(await store.find('constructor')).toBeUndefined();
      expect(await store.find('run-b')).toBeUndefined();
    });

    it('take one decision for each call, and are closed with the last one', async () => {
      await store.save(waitingRun(), noBounds);
      expect(await store.findHead('run-a')).toEqual({ callerId: 'ada', waitId: 'wait-1', expires: 5_000, isOpen: true });
      expect(await store.decide(place('two'), reject)).toEqual({ type: 'recorded', waiting: ['one'] });
      expect(await store.find('run-a')).toMatchObject({ answers: new Map([['two', reject]]) });
      expect(await store.decide(place('two'), approve)).toEqual({ type: 'closed' });
      expect(await store.decide(place('three'), approve)).toEqual({ type: 'closed' });
      expect(await store.decide(place('one'), { decision: 'approve', args: { amount: 1 } })).toEqual({
        type: 'complete',
        decided: [
          { call: waitingCall('one'), answer: { decision: 'approve', args: { amount: 1 } } },
          { call: waitingCall('two'), answer: reject },
        ],
      });
      expect(await store.find('run-a')).toEqual({ callerId: 'ada', type: 'closed' });
      expect(await store.findHead('run-a')).toEqual({ callerId: 'ada', waitId: 'wait-1', expires: 5_000, isOpen: false });
      expect(await store.findHead('run-b')).toBeUndefined();
      expect(await store.decide(place('one'), approve)).toEqual({ type: 'closed' });
    });

    it('give the last decision to one of those who come at once', async () => {
      await store.save(waitingRun(), noBounds);
      const effects = await Promise.all(['one', 'two', 'one', 'two', 'one'].map((callId) => store.decide(place(callId), approve)));
      expect(effects.map(({ type }) => type).toSorted()).toEqual(['closed', 'closed', 'closed', 'complete', 'recorded']);
    });

    it('are opened anew when they wait again, without the decisions of the time before', async () => {
      await store.save(waitingRun(), noBounds);
      await store.decide(place('one'), approve);
      const again = waitingRun({ waitId: 'wait-2' });
      await store.save(again, noBounds);
      expect(await store.find('run-a')).toEqual({ callerId: 'ada', type: 'open', answers: new Map(), run: again });
      expect(await store.decide(place('one'), approve)).toEqual({ type: 'closed' });
      expect(await store.decide(place('one', { waitId: 'wait-2' }), approve)).toEqual({ type: 'recorded', waiting: ['two'] });
      expect(await store.decide(place('two', { waitId: 'wait-2' }), approve)).toMatchObject({ type: 'complete' });
      await store.save(waitingRun({ waitId: 'wait-3' }), noBounds);
      expect(await store.decide(place('one', { waitId: 'wait-3' }), approve)).toEqual({ type: 'recorded', waiting: ['two'] });
    });

    it('that have failed behind their decisions are given again to one who repeats a decision, with those that are left', async () => {
      const decided = [
        { call: waitingCall('one'), answer: approve },
        { call: waitingCall('two'), answer: reject },
      ];
      const again = waitingRun({ again: { decided, left: decided.slice(1) } });
      await store.save(again, noBounds);
      expect(await store.find('run-a')).toEqual({ callerId: 'ada', type: 'open', answers: new Map(), run: again });
      expect(await store.decide(place('three'), approve)).toEqual({ type: 'closed' });
      const effects = await Promise.all(['one', 'two', 'one'].map((callId) => store.decide(place(callId), approve)));
      expect(effects.filter(({ type }) => type === 'complete')).toEqual([{ type: 'complete', decided: decided.slice(1) }]);
      expect(effects.filter(({ type }) => type === 'closed')).toHaveLength(2);
    });

    it('can be closed once, and take no decision after it', async () => {
      await store.save(waitingRun(), noBounds);
      await store.decide(place('one'), approve);
      expect([await store.close('run-a'), await store.close('run-a'), await store.close('run-b')]).toEqual([true, false, false]);
      expect(await store.decide(place('two'), approve)).toEqual({ type: 'closed' });
      expect(await store.find('run-a')).toEqual({ callerId: 'ada', type: 'closed' });
    });

    it('have bounds for each caller and for all, which those that are closed do not count for', async () => {
      const bounds = { ...noBounds, maxOfCaller: 2 };
      const keep = (id: string, callerId: string): Promise<SaveResult> => store.save(waitingRun({ id, callerId }), bounds);
      expect([await keep('run-a', 'ada'), await keep('run-b', 'ada'), await keep('run-c', 'ada')]).toEqual([kept(), kept(), refused]);
      expect(await store.find('run-c')).toBeUndefined();
      expect([await keep('run-d', 'bob'), await keep('run-b', 'ada')]).toEqual([kept(), kept()]);
      await store.close('run-a');
      expect(await keep('run-c', 'ada')).toEqual(kept());
      expect(await store.save(waitingRun({ id: 'run-e', callerId: 'eve' }), { ...noBounds, maxCharacters: 1_000 })).toEqual(refused);
    });

    it('of the caller who has the most give way, the oldest first, and no others: who has the most is refused', async () => {
      const large = (id: string, callerId: string, expires: number): WaitingRun =>
        waitingRun({ id, callerId, expires, loop: { version: 1, text: 'x'.repeat(10_000) } });
      const bounds = { ...noBounds, maxCharacters: 75_000 };
      const flood = ['run-a', 'run-b', 'run-c', 'run-d', 'run-e', 'run-f', 'run-g', 'run-h'];
      const answers: string[] = [];
      for (const [index, id] of flood.entries()) answers.push((await store.save(large(id, 'eve', 9_000 - index), bounds)).type);
      const filled = answers.filter((type) => type === 'saved').length;
      expect([filled >= 4, answers.at(-1)]).toEqual([true, 'refused']);
      const newest = flood[filled - 1];
      expect(await store.save(large('of-ada', 'ada', 5_000), bounds)).toEqual(kept(newest ?? ''));
      expect(await store.find(newest ?? '')).toEqual({ callerId: 'eve', type: 'closed' });
      expect((await store.save(large('run-i', 'eve', 20_000), bounds)).type).toBe('refused');
      expect([(await store.find('of-ada'))?.type, (await store.find('run-a'))?.type]).toEqual(['open', 'open']);
    });

    it('are kept whole when they are large, whatever their text, and not at all beyond their own bound', async () => {
      const text = `a${'😀'.repeat(400_000)}${'ü'.repeat(300_000)}`;
      const large = waitingRun({ loop: { version: 1, text } });
      const bounds = { ...noBounds, maxRunCharacters: JSON.stringify(large).length };
      expect(await store.save(large, { ...bounds, maxRunCharacters: bounds.maxRunCharacters - 1 })).toEqual({ type: 'too_large' });
      expect(await store.find('run-a')).toBeUndefined();
      expect(await store.save(large, bounds)).toEqual(kept());
      expect(isDeepStrictEqual(await store.find('run-a'), { callerId: 'ada', type: 'open', answers: new Map(), run: large })).toBe(true);
      const effects = await Promise.all(['one', 'two', 'one', 'two'].map((callId) => store.decide(place(callId), approve)));
      expect(effects.map(({ type }) => type).toSorted()).toEqual(['closed', 'closed', 'complete', 'recorded']);
    });

    it('of one chat of one caller are named while they are open', async () => {
      const inChat = (id: string, callerId: string, chatId?: string): WaitingRun => {
        const run = waitingRun({ id, callerId });
        return { ...run, request: { ...run.request, chatId } };
      };
      for (const run of [
        inChat('a', 'ada', 'c'),
        inChat('b', 'ada', 'c'),
        inChat('d', 'bob', 'c'),
        inChat('e', 'ada', 'd'),
        inChat('f', 'ada'),
      ])
        await store.save(run, noBounds);
      await store.close('b');
      expect(await store.openIdsOf('ada', 'c')).toEqual(['a']);
    });

    it('are named while they are open and good, and forgotten when they have expired', async () => {
      await store.save(waitingRun(), noBounds);
      await store.save(waitingRun({ id: 'run-b', expires: 6_000 }), noBounds);
      await store.save(waitingRun({ id: 'run-c' }), noBounds);
      await store.close('run-c');
      expect((await store.openIds(5_000)).toSorted()).toEqual(['run-a', 'run-b']);
      expect(await store.openIds(5_001)).toEqual(['run-b']);
      await store.prune(5_001);
      expect([await store.find('run-a'), await store.find('run-c'), (await store.find('run-b'))?.type]).toEqual([
        undefined,
        undefined,
        'open',
      ]);
    });

    it('that have failed are taken by their key, each once, the oldest first, until they expire', async () => {
      const second = failedRun({ id: `${failedRunPrefix}run-g`, expires: 6_000 });
      await store.save(second, noBounds);
      await store.save(failedRun(), noBounds);
      expect(await store.claimFailed('other', 4_999)).toBeUndefined();
      const taken = await Promise.all([1, 2, 3].map(() => store.claimFailed('key', 4_999)));
      expect(taken.filter((run) => run !== undefined).toSorted((one, other) => one.expires - other.expires)).toEqual([failedRun(), second]);
      await store.save(failedRun(), noBounds);
      expect(await store.claimFailed('key', 5_000)).toBeUndefined();
    });

    it('that have failed are not listed as waiting', async () => {
      const { id, waitId } = failedRun();
      await store.save(failedRun(), noBounds);
      expect([await store.find(id), await store.openIds(0)]).toEqual([undefined, []]);
      expect(await store.decide({ id, waitId, callId: 'one' }, approve)).toEqual({ type: 'closed' });
      expect(await store.callersWithFailed(4_999)).toEqual([{ callerId: 'ada', expires: 5_000 }]);
      expect(await store.callersWithFailed(5_000)).toEqual([]);
      await store.deleteAllOf('ada');
      expect(await store.claimFailed('key', 0)).toBeUndefined();
    });

    it('that have failed evict no waiting run', async () => {
      const large = { loop: { version: 1, text: 'x'.repeat(20_000) } };
      const bounds = { ...noBounds, maxCharacters: 75_000 };
      await store.save(waitingRun({ id: 'run-b', callerId: 'bob', ...large }), bounds);
      await store.save(waitingRun({ id: 'run-c', callerId: 'bob', ...large }), bounds);
      expect(await store.save(failedRun(large), bounds)).toEqual(refused);
      expect([(await store.find('run-b'))?.type, (await store.find('run-c'))?.type]).toEqual(['open', 'open']);
    });
  });
}
