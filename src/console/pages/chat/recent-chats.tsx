import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import { showError } from '../../parts/toasts.tsx';
import { chatsWithPendingAnswer } from './state/pending-answers.ts';
import { findChats, savedChats } from './state/saved-chats.ts';

/** Chats in the side bar. The search finds the others. */
const maxShown = 40;
/** From this many chats on, they can be searched. */
const minSearched = 6;

/** The chats of this browser in the side bar. */
export function RecentChats(): JSX.Element | null {
  const [current] = useLocation();
  const [search, setSearch] = useState('');
  const found = useFoundChats(search);
  // They are resumed on any page.
  useEffect(() => {
    if (chatsWithPendingAnswer().length > 0)
      import('./state/open-chats.ts').then(({ resumePendingChats }) => resumePendingChats()).catch(showError);
  }, []);
  const chats = savedChats.value;
  if (chats.length === 0) return null;
  const shown = chats.filter(({ id }) => found === undefined || found.has(id)).slice(0, maxShown);
  return (
    <nav class="recent-chats" aria-label="Chats in this browser">
      <h2>Chats</h2>
      {chats.length >= minSearched && (
        <input
          type="search"
          aria-label="Search chats"
          placeholder="Search chats"
          value={search}
          onInput={(event) => setSearch(event.currentTarget.value)}
        />
      )}
      <ul>
        {shown.map(({ id, title }) => {
          const path = `/console/chats/${id}`;
          return (
            <li key={id}>
              <Link href={path} class="page-link" title={title} aria-current={current === path ? 'page' : undefined}>
                <span class="cut" dir="auto">
                  {title}
                </span>
              </Link>
            </li>
          );
        })}
      </ul>
      {shown.length === 0 && (
        <p class="soft small" role="status">
          No matching chats.
        </p>
      )}
    </nav>
  );
}

/** Undefined without a search. */
function useFoundChats(search: string): ReadonlySet<string> | undefined {
  const [found, setFound] = useState<ReadonlySet<string>>();
  const words = search.split(/\s+/).filter((word) => word !== '');
  useEffect(() => {
    let isCurrent = true;
    if (words.length === 0) setFound(undefined);
    else findChats(words).then((ids) => isCurrent && setFound(ids), showError);
    return () => void (isCurrent = false);
  }, [words.join(' '), savedChats.value]);
  return found;
}
