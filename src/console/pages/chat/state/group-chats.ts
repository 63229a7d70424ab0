import type { SavedChat } from './saved-chats.ts';

export interface ChatGroup {
  title: string;
  chats: readonly SavedChat[];
}

const month = new Intl.DateTimeFormat(undefined, { month: 'long', year: 'numeric' });
const recent: readonly (readonly [days: number, title: string])[] = [
  [0, 'Today'],
  [1, 'Yesterday'],
  [7, 'Previous 7 days'],
  [30, 'Previous 30 days'],
];

/** Pinned chats first, then the others by the local day of their last change. `chats`: the newest first. */
export function groupChats(chats: readonly SavedChat[], now: number): ChatGroup[] {
  const today = dayOf(now);
  const titleOf = ({ updated, isPinned }: SavedChat): string => {
    if (isPinned === true) return 'Pinned';
    const age = today - dayOf(updated);
    return recent.find(([days]) => age <= days)?.[1] ?? month.format(updated);
  };
  const groups = [...Map.groupBy(chats, titleOf)].map(([title, grouped]) => ({ title, chats: grouped }));
  return groups.toSorted((one, other) => Number(other.title === 'Pinned') - Number(one.title === 'Pinned'));
}

/** Days since 1970, by the clock of this browser. */
function dayOf(time: number): number {
  const date = new Date(time);
  return Math.floor(Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()) / 86_400_000);
}
