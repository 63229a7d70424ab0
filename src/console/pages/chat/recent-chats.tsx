import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import { mayAdminister } from '../../api/access.ts';
import { identity } from '../../api/credential.ts';
import { Button } from '../../parts/button.tsx';
import { showError } from '../../parts/toasts.tsx';
import { chatsWithPendingAnswer } from './state/pending-answers.ts';
import { findChats, textsRevision } from './state/chat-texts.ts';
import { groupChats } from './state/group-chats.ts';
import { savedChats, syncSavedChats } from './state/saved-chats.ts';

/** Chats that are shown at first, and those that are added at a time. */
const pageSize = 60;

/** The chats of this browser in the side bar, with a search through all their words. */
export function RecentChats(): JSX.Element | null {
  const [current] = useLocation();
  const [search, setSearch] = useState('');
  const [shownCount, setShownCount] = useState(pageSize);
  const found = useFoundChats(search);
  // They are resumed on any page.
  useEffect(() => {
    if (chatsWithPendingAnswer().length > 0)
      import('./state/open-chats.ts').then(({ resumePendingChats }) => resumePendingChats()).catch(showError);
  }, []);
  useSync();
  const chats = savedChats.value;
  if (chats.length === 0) return null;
  const fitting = chats.filter(({ id }) => found === undefined || found.has(id));
  const groups = groupChats(fitting.slice(0, shownCount), Date.now());
  return (
    <nav class="recent-chats" aria-label="Chats in this browser">
      <input
        type="search"
        aria-label="Search chats"
        placeholder="Search chats"
        value={search}
        onInput={(event) => setSearch(event.currentTarget.value)}
      />
      <div class="recent-chats-list">
        {groups.map(({ title, chats: grouped }) => (
          <section key={title}>
            <h2>{title}</h2>
            <ul>
              {grouped.map((chat) => (
                <li key={chat.id}>
                  <ChatLink id={chat.id} title={chat.title} current={current} />
                </li>
              ))}
            </ul>
          </section>
        ))}
        {fitting.length > shownCount && (
          <Button kind="quiet" isSmall onClick={() => setShownCount(shownCount + pageSize)}>
            Show more
          </Button>
        )}
        {fitting.length === 0 && (
          <p class="soft small" role="status">
            No matching chats.
          </p>
        )}
      </div>
    </nav>
  );
}

function ChatLink({ id, title, current }: { id: string; title: string; current: string }): JSX.Element {
  const path = `/console/chats/${id}`;
  return (
    <Link href={path} class="page-link" title={title} aria-current={current === path ? 'page' : undefined}>
      <span class="cut" dir="auto">
        {title}
      </span>
    </Link>
  );
}

const syncEveryMs = 60_000;
/** The side bar and the drawer have the list. */
let lastSync = { at: 0, caller: undefined as string | undefined };

/** Chats on the server are looked for when the page opens, when a person returns to it, and every minute. */
function useSync(): void {
  const caller = identity.value;
  useEffect(() => {
    const sync = (): void => {
      const now = Date.now();
      if (document.visibilityState !== 'visible' || (lastSync.caller === caller && now - lastSync.at < 1_000)) return;
      lastSync = { at: now, caller };
      // Without a connection, the chats of this browser are there all the same.
      void syncSavedChats().catch(() => undefined);
    };
    if (mayAdminister.value !== undefined) sync();
    const timer = setInterval(sync, syncEveryMs);
    document.addEventListener('visibilitychange', sync);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', sync);
    };
  }, [caller, mayAdminister.value === undefined]);
}

/** Undefined without a search. */
function useFoundChats(search: string): ReadonlySet<string> | undefined {
  const [found, setFound] = useState<ReadonlySet<string>>();
  const words = search.split(/\s+/).filter((word) => word !== '');
  const revision = words.length === 0 ? 0 : textsRevision.value;
  useEffect(() => {
    let isCurrent = true;
    const ids = savedChats.peek().map(({ id }) => id);
    if (words.length === 0) setFound(undefined);
    else findChats(ids, words).then((fitting) => isCurrent && setFound(fitting), showError);
    return () => void (isCurrent = false);
  }, [words.join(' '), revision]);
  return found;
}
