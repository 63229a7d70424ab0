import type { JSX } from 'preact';
import { Link } from 'wouter-preact';
import { mayAdminister } from '../../../api/access.ts';
import { Icon } from '../../../parts/icon.tsx';
import { formatCount } from '../../../parts/text/formats.ts';

/** One line for all tool servers that an answer had to do without, because they rarely matter to its question. */
export function UnavailableServers({ messages }: { messages: readonly string[] }): JSX.Element {
  return (
    <details class="chat-unavailable small">
      <summary>
        <Icon name="alert" size={15} /> {formatCount(messages.length, 'tool server')} unavailable
        <Icon name="down" size={15} />
      </summary>
      <ul>
        {messages.map((message) => (
          <li key={message} dir="auto">
            {message}
          </li>
        ))}
      </ul>
      {mayAdminister.value === true && (
        <p>
          <Link href="/console/tool-servers">Tool servers</Link>
        </p>
      )}
    </details>
  );
}
