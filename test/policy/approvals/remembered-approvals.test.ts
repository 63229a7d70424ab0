import { expect, it } from 'vitest';
import type { NoteStore } from '../../../src/core/stores/note-store.ts';
import {
  createRememberedApprovals,
  rememberedApprovalMs,
  rememberedApprovals,
} from '../../../src/policy/approvals/remembered-approvals.ts';
import type { RememberedApprovals } from '../../../src/policy/approvals/remembered-approvals.ts';
import { memoryNotes } from '../../_support/memory-stores.ts';

const place = (fields: object = {}) => ({ callerId: 'ada', conversation: 'one', definition: 'pay', ...fields });
const rememberedAt = (now: () => number, memory = memoryNotes()): RememberedApprovals =>
  createRememberedApprovals({ store: memory, now, onFault: () => undefined });

it('a decision holds for its caller, chat and definition, until it is old or replaced', async () => {
  let time = 0;
  const remembered = rememberedAt(() => time);
  await remembered.remember(place(), 'approve');
  expect(await remembered.find(place())).toBe('approve');
  for (const other of [{ callerId: 'bob' }, { conversation: 'two' }, { definition: 'pay more' }, { conversation: undefined }])
    expect(await remembered.find(place(other))).toBeUndefined();
  await remembered.remember(place(), 'reject');
  expect(await remembered.find(place())).toBe('reject');
  time += rememberedApprovalMs;
  expect(await remembered.find(place())).toBeUndefined();
});

it('without a chat nothing is remembered', async () => {
  const remembered = rememberedAt(() => 0);
  await remembered.remember(place({ conversation: undefined }), 'approve');
  expect(await remembered.find(place({ conversation: undefined }))).toBeUndefined();
});

it('the oldest are forgotten beyond the limit', async () => {
  const notes = memoryNotes();
  // A thousandth of the limit, because filling the whole takes seconds.
  const memory: NoteStore = { ...notes, save: (note, bounds) => notes.save(note, { ...bounds, maxNotes: bounds.maxNotes / 1_000 }) };
  const remembered = rememberedAt(() => 0, memory);
  for (let index = 0; index <= rememberedApprovals / 1_000; index += 1)
    await remembered.remember(place({ conversation: `chat ${index}` }), 'approve');
  const found = [await remembered.find(place({ conversation: 'chat 0' })), await remembered.find(place({ conversation: 'chat 1' }))];
  expect(found).toEqual([undefined, 'approve']);
});

it('whatever else a memory holds decides nothing', async () => {
  const remembered = rememberedAt(() => 0, { ...memoryNotes(), find: async () => 'approved' });
  expect(await remembered.find(place())).toBeUndefined();
});
