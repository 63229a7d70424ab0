import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { call } from '../../api/request.ts';
import { useQuery } from '../../api/use-query.ts';
import { confirm } from '../../parts/confirm.ts';
import { Breakable } from '../../parts/text/breakable.tsx';
import { Button } from '../../parts/button.tsx';
import { formatCount, formatDate, formatShort } from '../../parts/text/formats.ts';
import { Loaded, Empty } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
import { showToast, showError } from '../../parts/toasts.tsx';
import { KeyDialog } from './key-dialog.tsx';
import type { Key } from './key-draft.ts';
import { People } from './people.tsx';

/** Who may use the gateway: keys of programs, and the people behind them. */
export function KeysPage(): JSX.Element {
  const keys = useQuery('GET /api/keys');
  // `isFirst` is kept from when the dialog opened: afterwards the key is there.
  const [shown, setShown] = useState<{ key?: Key; isFirst: boolean }>();

  const remove = async (key: Key): Promise<void> => {
    const isConfirmed = await confirm({
      title: `Delete the key “${key.name}”?`,
      text:
        key.users === null
          ? 'Programs with it are locked out at once, and what belongs to it is deleted.'
          : 'Its frontend is locked out at once, and whatever belongs to the people behind it is deleted.',
      action: 'Delete',
      isDangerous: true,
    });
    if (!isConfirmed) return;
    await call('DELETE /api/keys/:id', { params: { id: key.id } });
    showToast(`${key.name} is deleted.`);
    keys.reload();
  };
  const nameOf = (id: string): string => keys.data?.data.find((key) => key.id === id)?.name ?? (id.startsWith('oidc_') ? 'OpenID' : id);

  return (
    <div class="page keys">
      <header>
        <h1>Keys and people</h1>
        <Button
          kind="main"
          icon="add"
          isDisabled={keys.data === undefined}
          onClick={() => setShown({ isFirst: keys.data?.data.length === 0 })}
        >
          New key
        </Button>
      </header>
      <Loaded query={keys}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon="key" title="No keys yet">
              <p>
                Without keys the gateway answers to this machine alone, and anybody on it may chat. The first key has to be an
                administrator’s.
              </p>
            </Empty>
          ) : (
            <Table<Key>
              label="Keys"
              rows={data}
              keyOf={({ id }) => id}
              columns={[
                {
                  title: 'Key',
                  cell: ({ name, origin }) => (
                    <>
                      <Breakable text={name} />
                      {origin === 'environment' && <div class="soft small">from the environment</div>}
                    </>
                  ),
                },
                { title: 'Role', cell: ({ role }) => <span class="chip">{role === 'admin' ? 'administrator' : 'user'}</span> },
                { title: 'Used by', isBelow: true, cell: whomOf },
                { title: 'Limits', isBelow: true, cell: (key) => <Restrictions of={key} /> },
                { title: 'Until', isBelow: true, cell: untilOf },
                {
                  title: 'Actions',
                  isActions: true,
                  cell: (key) =>
                    key.origin === 'database' && (
                      <span class="row">
                        <Button isSmall label={`Edit the key ${key.name}`} onClick={() => setShown({ key, isFirst: false })}>
                          Edit
                        </Button>
                        <Button
                          isSmall
                          kind="quiet"
                          icon="trash"
                          label={`Delete the key ${key.name}`}
                          onClick={() => void remove(key).catch(showError)}
                        />
                      </span>
                    ),
                },
              ]}
            />
          )
        }
      </Loaded>
      {keys.data !== undefined && <People nameOf={nameOf} keys={keys.data} />}
      {shown !== undefined && (
        <KeyDialog edited={shown.key} isFirst={shown.isFirst} onClose={() => setShown(undefined)} onSaved={keys.reload} />
      )}
    </div>
  );
}

function whomOf({ users }: Key): string {
  return users === null ? 'a program or a person' : `many people, named by ${users.from === 'jwt' ? 'a signed token' : 'a header'}`;
}

function untilOf({ expires_at: expires }: Key): JSX.Element | string {
  if (expires === null) return '';
  return Date.parse(expires) <= Date.now() ? <span class="chip bad">expired</span> : <span class="keys-until">{formatDate(expires)}</span>;
}

/** A line for each kind of restriction. */
function Restrictions({ of: { limits, total_limits: total, models, tools, users } }: { of: Key }): JSX.Element | null {
  const own = limitsOf(limits);
  const all = limitsOf(total);
  const lines = [
    own === '' ? '' : users === null ? own : `for each: ${own}`,
    all === '' ? '' : `in all: ${all}`,
    models === null ? '' : `only ${formatCount(models.length, 'model')}`,
    tools === null ? '' : `only ${formatCount(tools.length, 'tool entry', 'tool entries')}`,
  ].filter(Boolean);
  if (lines.length === 0) return null;
  return (
    <div>
      {lines.map((line) => (
        <div key={line}>{line}</div>
      ))}
    </div>
  );
}

function limitsOf(limits: Key['limits']): string {
  const { requests_per_minute: requests, concurrent_runs: runs, tokens_per_day: tokens } = limits ?? {};
  const parts = [
    requests === undefined ? '' : `${formatShort(requests)} requests a minute`,
    runs === undefined ? '' : `${formatShort(runs)} answers at a time`,
    tokens === undefined ? '' : `${formatShort(tokens)} tokens a day`,
  ];
  return parts.filter(Boolean).join(', ');
}
