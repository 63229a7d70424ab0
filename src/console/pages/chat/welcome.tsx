import type { JSX } from 'preact';
import { useQuery } from '../../api/use-query.ts';
import { Icon } from '../../parts/icon.tsx';
import { MissingParts } from './missing-parts.tsx';

/** Questions that show a tool at work. `needs`: matches the name of a function that they need. */
const suggestions: readonly { question: string; needs?: RegExp }[] = [
  { question: 'What time is it in Osaka?', needs: /time/i },
  { question: 'How many hours from yesterday at noon until now?', needs: /elapsed|time/i },
  { question: 'What can you do for me?' },
];

/** Shown in a new chat. */
export function Welcome({ onAsk }: { onAsk: (question: string) => void }): JSX.Element {
  const tools = useQuery('GET /api/tools', { isCached: true });
  const names = tools.data?.data.map(({ name }) => name) ?? [];
  const fitting = suggestions.filter(({ needs }) => needs === undefined || names.some((name) => needs.test(name)));
  return (
    <div class="welcome">
      <h1>What would you like to know?</h1>
      <div class="welcome-questions">
        {fitting.map(({ question }) => (
          <button key={question} type="button" onClick={() => onAsk(question)}>
            {question}
            <Icon name="arrowUp" size={16} />
          </button>
        ))}
      </div>
      <MissingParts />
    </div>
  );
}
