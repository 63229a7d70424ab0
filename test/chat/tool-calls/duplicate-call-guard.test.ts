import { expect, it } from 'vitest';
import { createDuplicateCallGuard } from '../../../src/chat/tool-calls/duplicate-call-guard.ts';
import type { ToolOutcome } from '../../../src/core/tools/tool.ts';
import { toolNamed } from '../../_support/tools.ts';

const pay = toolNamed('pay', 1);
const look = toolNamed('look', 1, { isReadOnly: true });
const put = toolNamed('put', 1, { isIdempotent: true });
const failed = (fields: Partial<Extract<ToolOutcome, { type: 'error' }>>): ToolOutcome => ({
  type: 'error',
  code: 'tool_error',
  message: 'no',
  ...fields,
});

it.each<[string, ToolOutcome, boolean]>([
  ['a result', { type: 'result', value: 1 }, true],
  ['an error of the tool itself', failed({}), true],
  ['a call that did not reach the tool', failed({ state: 'not_started' }), true],
  ['a call that surely changed nothing', failed({ code: 'tool_cancelled', state: 'cancelled' }), true],
  ['a broken connection', failed({ state: 'outcome_unknown' }), false],
  ['a time limit that was passed', failed({ code: 'tool_timeout' }), false],
  ['a time limit that was passed before anything was sent', failed({ code: 'tool_timeout', state: 'not_started' }), true],
  ['a browser that has left', failed({ code: 'client_disconnected' }), false],
  ['a browser that was not there', failed({ code: 'client_unavailable' }), true],
])('after %s an equal call may run again: %o … %s', (_name, outcome, mayRun) => {
  const ledger = createDuplicateCallGuard();
  for (const tool of [pay, look, put]) {
    expect(ledger.begin(tool, { n: 1 })).toBeUndefined();
    ledger.settle(tool, { n: 1 }, outcome);
  }
  expect(ledger.objection(pay, { n: 1 })?.code).toBe(mayRun ? undefined : 'outcome_unknown');
  expect(ledger.objection(pay, { n: 2 })).toBeUndefined();
  expect([ledger.begin(look, { n: 1 }), ledger.begin(put, { n: 1 })]).toEqual([undefined, undefined]);
});

it('a ledger that was written down while a call ran does not let it run again', () => {
  const before = createDuplicateCallGuard();
  before.begin(pay, { a: 1, b: 2 });
  before.begin(look, {});
  before.begin(look, {});
  const entries: ReturnType<typeof before.entries> = JSON.parse(JSON.stringify(before.entries()));
  const after = createDuplicateCallGuard(entries);
  expect(after.begin(pay, { b: 2, a: 1 })?.code).toBe('outcome_unknown');
  expect(after.begin(look, {})?.code).toBe('duplicate_call_blocked');
  expect(after.begin(pay, { a: 1 })).toBeUndefined();
});

const gives = (value: number): ToolOutcome => ({ type: 'result', value });

it('an equal call that gives something new each time goes on, and functions that may repeat are not bounded', () => {
  const ledger = createDuplicateCallGuard();
  for (let n = 0; n < 9; n++) {
    expect(ledger.begin(pay, {})).toBeUndefined();
    ledger.settle(pay, {}, gives(n));
  }
  const press = toolNamed('press', 1, { mayRepeat: true });
  for (let n = 0; n < 9; n++) {
    expect(ledger.begin(press, {})).toBeUndefined();
    ledger.settle(press, {}, gives(1));
  }
});

it('of equal calls in one round those are decided late that may be one too many', () => {
  const ledger = createDuplicateCallGuard();
  const round = [pay, pay, look, pay, pay].map((tool) => ({ tool, args: {} }));
  expect(ledger.mayObject([undefined, ...round])).toEqual([false, false, false, false, true, true]);
  ledger.begin(pay, {});
  expect(ledger.mayObject(round)).toEqual([false, true, false, true, true]);
});

it('a call that goes on after an approval within it is not counted again', () => {
  const ledger = createDuplicateCallGuard();
  for (let n = 0; n < 5; n++) {
    expect(ledger.begin(pay, {}, n > 0)).toBeUndefined();
    ledger.settle(pay, {}, failed({ code: 'approval_required', state: 'not_started' }));
  }
});
