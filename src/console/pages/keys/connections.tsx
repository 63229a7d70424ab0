import type { JSX } from 'preact';
import type { AnswerOf } from '../../api/api-types.ts';
import type { Query } from '../../api/use-query.ts';
import { Button } from '../../parts/button.tsx';
import { confirm } from '../../parts/confirm.ts';
import { ConnectionState } from '../../parts/connection-state.tsx';
import { Loaded } from '../../parts/states.tsx';
import { showError, showToast } from '../../parts/toasts.tsx';

interface ConnectionsProps {
  query: Query<AnswerOf<'GET /api/users/:key/:id/credentials'>>;
  disconnect: (server: string) => Promise<unknown>;
}

/** The tool servers that a person has connected to with an account of their own. An administrator may disconnect them. */
export function Connections({ query, disconnect }: ConnectionsProps): JSX.Element {
  const end = async (server: string, name: string): Promise<void> => {
    const isConfirmed = await confirm({
      title: `Disconnect from ${name}?`,
      text: 'Anyone using this account will have to reconnect before using the server’s functions again.',
      action: 'Disconnect',
      isDangerous: true,
    });
    if (!isConfirmed) return;
    await disconnect(server);
    showToast(`Disconnected from ${name}.`);
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
                  <ConnectionState state={state} />
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
