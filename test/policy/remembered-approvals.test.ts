import { expect, test } from 'vitest';
import { limits } from '../../src/core/limits.ts';
import { createRememberedApprovals } from '../../src/policy/remembered-approvals.ts';

const place = (fields: object = {}) => ({ callerId: 'ada', chatId: 'one', definition: 'pay', ...fields });

test('a decision holds for its caller, chat and definition, until it is old or replaced', () => {
  let time = 0;
  const remembered = createRememberedApprovals(() => time);
  remembered.remember(place(), 'approve');
  expect(remembered.find(place())).toBe('approve');
  for (const other of [{ callerId: 'bob' }, { chatId: 'two' }, { definition: 'pay more' }, { chatId: undefined }])
    expect(remembered.find(place(other))).toBeUndefined();
  remembered.remember(place(), 'reject');
  expect(remembered.find(place())).toBe('reject');
  time += limits.rememberedApprovalMs;
  expect(remembered.find(place())).toBeUndefined();
});

test('without a chat nothing is remembered', () => {
  const remembered = createRememberedApprovals(() => 0);
  remembered.remember(place({ chatId: undefined }), 'approve');
  expect(remembered.find(place({ chatId: undefined }))).toBeUndefined();
});

test('the oldest are forgotten beyond the limit', () => {
  const remembered = createRememberedApprovals(() => 0);
  for (let index = 0; index <= limits.rememberedApprovals; index += 1) remembered.remember(place({ chatId: `chat ${index}` }), 'approve');
  expect([remembered.find(place({ chatId: 'chat 0' })), remembered.find(place({ chatId: 'chat 1' }))]).toEqual([undefined, 'approve']);
});
