import { describe, expect, it } from 'vitest';
import { groupChats } from '../../src/console/pages/chat/state/group-chats.ts';

const now = new Date(2026, 10, 28, 0, 30).getTime();
const at = (id: string, ...[month, day, hour]: [number, number, number]) => ({
  id,
  title: id,
  updated: new Date(2026, month, day, hour).getTime(),
});

describe('groupChats', () => {
  it('groups chats by the local day of their last change, pinned ones first', () => {
    const chats = [
      at('now', 10, 28, 0),
      at('last evening', 10, 27, 23),
      at('this week', 10, 22, 12),
      { ...at('pinned', 10, 1, 12), isPinned: true as const },
      at('this month', 10, 1, 12),
      at('in summer', 6, 5, 12),
    ];
    expect(groupChats(chats, now).map(({ title, chats: grouped }) => [title, grouped.map(({ id }) => id)])).toEqual([
      ['Pinned', ['pinned']],
      ['Today', ['now']],
      ['Yesterday', ['last evening']],
      ['Previous 7 days', ['this week']],
      ['Previous 30 days', ['this month']],
      ['July 2026', ['in summer']],
    ]);
  });

  it('puts a chat of the future, by a clock that was set back, among those of today', () => {
    expect(groupChats([at('tomorrow', 10, 29, 12)], now)).toMatchObject([{ title: 'Today' }]);
  });
});
