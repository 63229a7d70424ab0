import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { call } from '../../api/request.ts';
import { useQuery } from '../../api/use-query.ts';
import { confirm } from '../../parts/confirm.ts';
import { Breakable } from '../../parts/text/breakable.tsx';
import { Button } from '../../parts/button.tsx';
import { formatCount, formatDate, formatDay, formatShort } from '../../parts/text/formats.ts';
import { Loaded, Empty } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
import { showToast, showError } from '../../parts/toasts.tsx';
import { KeyDialog } from './key-dialog.tsx';
import type { Key } from './key-draft.ts';
import { People } from './people.tsx';

/** Who may use the gateway: API keys, and the people behind them. */
export function KeysPage(): JSX.Element {
  const keys = useQuery('GET /api/keys');
  // `isFirst` is fixed when the dialog opens, because the key exists afterwards.
  const [shown, setShown] = useState<{ key?: Key; isFirst: boolean }>();
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
                Without keys, only this machine can reach the gateway, and anyone on it can chat. The first key is for an administrator.
              </p>
            </Empty>
          ) : (
            <KeyTable keys={data} onEdit={(key) => setShown({ key, isFirst: false })} onChanged={keys.reload} />
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

/** Days for which usage is kept. */
const usageDays = 90;

interface KeyTableProps {
  keys: readonly Key[];
  onEdit: (key: Key) => void;
  onChanged: () => void;
}

function KeyTable({ keys, onEdit, onChanged }: KeyTableProps): JSX.Element {
  const lastUsed = useLastUse();
  const remove = async (key: Key): Promise<void> => {
    const isConfirmed = await confirm({
      title: `Delete the key “${key.name}”?`,
      text:
        key.users === null
          ? 'Programs that use it lose access at once, and its data is deleted.'
          : 'Its frontend loses access at once, and the data of everyone behind it is deleted.',
      action: 'Delete',
      isDangerous: true,
    });
    if (!isConfirmed) return;
    await call('DELETE /api/keys/:id', { params: { id: key.id } });
    showToast(`${key.name} was deleted.`);
    onChanged();
  };
  return (
    <Table<Key>
      label="Keys"
      rows={keys}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'Key',
          cell: ({ name, origin, first_characters: beginning }) => (
            <>
              <Breakable text={name} />
              {beginning !== null && <div class="soft small mono">{`sk-tw-${beginning}…`}</div>}
              {origin === 'environment' && <div class="soft small">from the environment</div>}
            </>
          ),
        },
        { title: 'Role', cell: ({ role }) => <span class="chip">{role === 'admin' ? 'administrator' : 'user'}</span> },
        { title: 'Used by', isBelow: true, cell: usersOf },
        { title: 'Limits', isBelow: true, cell: Restrictions },
        { title: 'Created', isBelow: true, cell: ({ created_at: created }) => (created === null ? '' : formatDate(created)) },
        { title: 'Last used', isBelow: true, cell: ({ id }) => lastUsed(id) },
        { title: 'Expires', isBelow: true, cell: expiryOf },
        {
          title: 'Actions',
          isActions: true,
          cell: (key) =>
            key.origin === 'database' && (
              <span class="row">
                <Button isSmall label={`Edit the key ${key.name}`} onClick={() => onEdit(key)}>
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
  );
}

/** In UTC, as usage is counted. */
function dayBefore(days: number): string {
  return new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
}

/** The last day on which a key was used, of those that are counted. */
function useLastUse(): (id: string) => string {
  const usage = useQuery('GET /api/usage', { query: { by: 'key', from: dayBefore(usageDays), to: dayBefore(0) } }).data;
  return (id) => {
    if (usage === undefined) return '';
    const days = usage.data.filter(({ key }) => key === id).map(({ day }) => day);
    return days.length === 0 ? `not in ${usageDays} days` : formatDay(days.toSorted().at(-1) ?? '');
  };
}

function usersOf({ users }: Key): string {
  return users === null ? 'a program or person' : `many people, identified by a ${users.from === 'jwt' ? 'signed token' : 'header'}`;
}

function expiryOf({ expires_at: expires }: Key): JSX.Element | string {
  if (expires === null) return '';
  return Date.parse(expires) <= Date.now() ? <span class="chip bad">expired</span> : <span class="keys-until">{formatDate(expires)}</span>;
}

/** One line for each kind of restriction. */
function Restrictions({ limits, total_limits: total, models, tools, users }: Key): JSX.Element | null {
  const own = limitsOf(limits);
  const all = limitsOf(total);
  const lines = [
    own === '' ? '' : users === null ? own : `per person: ${own}`,
    all === '' ? '' : `in total: ${all}`,
    models === null ? '' : `${formatCount(models.length, 'model')} only`,
    tools === null ? '' : `${formatCount(tools.length, 'tool')} only`,
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
    requests === undefined ? '' : `${formatShort(requests)} requests per minute`,
    runs === undefined ? '' : `${formatShort(runs)} concurrent answers`,
    tokens === undefined ? '' : `${formatShort(tokens)} tokens per day`,
  ];
  return parts.filter(Boolean).join(', ');
}
