import type { JSX } from 'preact';
import { Link, useLocation } from 'wouter-preact';
import { keptChats } from './kept-chats.ts';

/** In the side bar; the others are found by the search of the chat page. */
const maxShown = 40;

/** The chats of this browser, for the side bar. */
export function RecentChats(): JSX.Element | null {
  const [place] = useLocation();
  if (keptChats.value.length === 0) return null;
  return (
    <nav class="recent-chats" aria-label="Chats of this browser">
      <h2>Chats</h2>
      <ul>
        {keptChats.value.slice(0, maxShown).map(({ id, title }) => {
          const path = `/console/chats/${id}`;
          return (
            <li key={id}>
              <Link href={path} class="page-link" title={title} aria-current={place === path ? 'page' : undefined}>
                <span class="cut">{title}</span>
              </Link>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}
