import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { AnswerOf } from '../../api/api-types.ts';
import { openConnectPage } from '../../api/open-connect-page.ts';
import { call } from '../../api/request.ts';
import { useQuery } from '../../api/use-query.ts';
import { confirm } from '../../parts/confirm.ts';
import { Button } from '../../parts/button.tsx';
import { ConnectionState } from '../../parts/connection-state.tsx';
import { Empty, Loaded } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
import { showError, showToast } from '../../parts/toasts.tsx';

type Account = AnswerOf<'GET /api/credentials'>['data'][number];

/** The connect page may be open in another tab, so the list is reloaded this often. */
const refreshMs = 4_000;

/** The tool servers that each person uses with an account of their own. */
export function AccountsPage(): JSX.Element {
  const query = useQuery('GET /api/credentials', { everyMs: refreshMs });
  return (
    <div class="page accounts">
      <header>
        <h1>Your accounts</h1>
      </header>
      {query.data?.data.length !== 0 && <p class="soft">These tool servers use your own account. Only calls made for you use it.</p>}
      <Loaded query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon="lock" title="No accounts needed">
              <p>Tool servers that need your own account, such as mail or a calendar, appear here. Only calls made for you use it.</p>
            </Empty>
          ) : (
            <AccountTable accounts={data} onChanged={query.reload} />
          )
        }
      </Loaded>
    </div>
  );
}

function AccountTable({ accounts, onChanged }: { accounts: readonly Account[]; onChanged: () => void }): JSX.Element {
  return (
    <Table<Account>
      label="Your accounts"
      rows={accounts}
      keyOf={({ server }) => server}
      columns={[
        { title: 'Tool server', cell: ({ name }) => name },
        { title: 'Status', isBelow: true, cell: ConnectionState },
        {
          title: 'Credential',
          isBelow: true,
          cell: ({ kind, scopes = [] }) => (
            <>
              {kind === 'oauth' ? 'your sign-in' : 'your API key'}
              {scopes.length > 0 && <div class="soft small">scopes: {scopes.join(', ')}</div>}
            </>
          ),
        },
        { title: 'Actions', isActions: true, cell: (account) => <AccountActions account={account} onChanged={onChanged} /> },
      ]}
    />
  );
}

function AccountActions({ account: { server, name, state }, onChanged }: { account: Account; onChanged: () => void }): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const connect = (): void => {
    setBusy(true);
    void openConnectPage(server)
      .catch(showError)
      .finally(() => setBusy(false));
  };
  const disconnect = async (): Promise<void> => {
    const isConfirmed = await confirm({
      title: `Disconnect from ${name}?`,
      text: 'To use its functions again, you will have to reconnect. If the server supports it, your sign-in is revoked there too.',
      action: 'Disconnect',
      isDangerous: true,
    });
    if (!isConfirmed) return;
    await call('DELETE /api/credentials/:server', { params: { server } });
    showToast(`Disconnected from ${name}.`);
    onChanged();
  };
  const action = state === 'connected' ? 'Reconnect' : 'Connect';
  return (
    <span class="row">
      <Button isSmall kind={state === 'connected' ? 'plain' : 'main'} label={`${action} to ${name}`} isBusy={isBusy} onClick={connect}>
        {action}
      </Button>
      {state !== 'missing' && (
        <Button isSmall kind="quiet" icon="trash" label={`Disconnect from ${name}`} onClick={() => void disconnect().catch(showError)} />
      )}
    </span>
  );
}
