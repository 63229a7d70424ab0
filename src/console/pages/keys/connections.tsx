import type { JSX } from 'preact';
import type { AnswerOf } from '../../api/api-types.ts';
import type { Query } from '../../api/use-query.ts';
import { confirm } from '../../parts/confirm.ts';
import { Button } from '../../parts/button.tsx';
import { Loaded } from '../../parts/states.tsx';
import { showToast, showError } from '../../parts/toasts.tsx';

interface ConnectionsProps {
  query: Query<AnswerOf<'GET /api/users/:key/:id/credentials'>>;
  disconnect: (server: string) => Promise<unknown>;
}

const words = { connected: 'connected', expired: 'expired', missing: 'not connected' } as const;
const tones = { connected: 'good', expired: 'warn', missing: '' } as const;

/** The tool servers that somebody has connected to with an account of their own; an administrator may end that. */
export function Connections({ query, disconnect }: ConnectionsProps): JSX.Element {
  const end = async (server: string, name: string): Promise<void> => {
    const isConfirmed = await confirm({
      title: `Disconnect from ${name}?`,
      text: 'Its functions then ask whoever uses this account to connect again.',
      action: 'Disconnect',
      isDangerous: true,
    });
    if (!isConfirmed) return;
    await disconnect(server);
    showToast(`${name} is disconnected.`);
    query.reload();
  };
  return (
    <section class="stack">
      <h3>Connected tool servers</h3>
      <Loaded query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <p class="soft">None.</p>
          ) : (
            <ul class="keys-accounts">
              {data.map(({ server, name, state }) => (
                <li key={server} class="row">
                  <span class="grow">{name}</span>
                  <span class={`chip ${tones[state]}`}>{words[state]}</span>
                  <Button isSmall label={`Disconnect from ${name}`} onClick={() => void end(server, name).catch(showError)}>
                    Disconnect
                  </Button>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </section>
  );
}
