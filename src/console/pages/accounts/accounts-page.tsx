import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { AnswerOf } from '../../api/api-types.ts';
import { call } from '../../api/request.ts';
import { useQuery } from '../../api/use-query.ts';
import { confirm } from '../../parts/confirm.ts';
import { Button } from '../../parts/button.tsx';
import { openConnectPage } from '../../api/open-connect-page.ts';
import { Loaded, Empty } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
import { showToast, showError } from '../../parts/toasts.tsx';

type Account = AnswerOf<'GET /api/credentials'>['data'][number];

/** While a page to connect may be open in another tab, in milliseconds. */
const refreshMs = 4_000;

const tones = { connected: 'good', expired: 'warn', missing: '' } as const;

/** The tool servers that ask each person for an account of their own. */
export function AccountsPage(): JSX.Element {
  const query = useQuery('GET /api/credentials', { everyMs: refreshMs });
  const [busy, setBusy] = useState<string>();

  const connect = async ({ server }: Account): Promise<void> => {
    setBusy(server);
    try {
      await openConnectPage(server);
    } catch (error) {
      showError(error);
    } finally {
      setBusy(undefined);
    }
  };
  const disconnect = async ({ server, name }: Account): Promise<void> => {
    const isConfirmed = await confirm({
      title: `Disconnect from ${name}?`,
      text: 'Its functions then ask you to connect again. What the server gave is given back where it can be.',
      action: 'Disconnect',
      isDangerous: true,
    });
    if (!isConfirmed) return;
    await call('DELETE /api/credentials/:server', { params: { server } });
    showToast(`${name} is disconnected.`);
    query.reload();
  };

  return (
    <div class="page accounts">
      <header>
        <h1>Your accounts</h1>
      </header>
      {query.data?.data.length !== 0 && (
        <p class="soft">Tool servers that use an account of your own. Calls that are made for you use it, and nobody else’s do.</p>
      )}
      <Loaded query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon="lock" title="No tool server asks for your account">
              <p>Servers with mail, a calendar or files of your own appear here. Calls that are made for you then use your account.</p>
            </Empty>
          ) : (
            <Table<Account>
              label="Your accounts"
              rows={data}
              keyOf={({ server }) => server}
              columns={[
                { title: 'Tool server', cell: ({ name }) => name },
                {
                  title: 'State',
                  isBelow: true,
                  cell: ({ state }) => <span class={`chip ${tones[state]}`}>{state === 'missing' ? 'not connected' : state}</span>,
                },
                {
                  title: 'With',
                  isBelow: true,
                  cell: ({ kind, scopes = [] }) => (
                    <>
                      {kind === 'oauth' ? 'a sign-in of yours' : 'a key of yours'}
                      {scopes.length > 0 && <div class="soft small">may {scopes.join(', ')}</div>}
                    </>
                  ),
                },
                {
                  title: 'Actions',
                  isActions: true,
                  cell: (account) => (
                    <span class="row">
                      {account.state === 'connected' ? (
                        <Button
                          isSmall
                          label={`Connect again to ${account.name}`}
                          isBusy={busy === account.server}
                          onClick={() => void connect(account)}
                        >
                          Connect again
                        </Button>
                      ) : (
                        <Button
                          isSmall
                          kind="main"
                          label={`Connect to ${account.name}`}
                          isBusy={busy === account.server}
                          onClick={() => void connect(account)}
                        >
                          Connect
                        </Button>
                      )}
                      {account.state !== 'missing' && (
                        <Button
                          isSmall
                          kind="quiet"
                          icon="trash"
                          label={`Disconnect from ${account.name}`}
                          onClick={() => void disconnect(account).catch(showError)}
                        />
                      )}
                    </span>
                  ),
                },
              ]}
            />
          )
        }
      </Loaded>
    </div>
  );
}
