import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { AnswerOf } from '../../api/api-types.ts';
import { call } from '../../api/request.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { askFirst } from '../../parts/ask-first.tsx';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { formatAgo, formatDate, formatDateTime } from '../../parts/formats.ts';
import { Answered, Loading, Problem } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
import { say, sayProblem } from '../../parts/toasts.tsx';
import { NewKeyDialog } from './new-key-dialog.tsx';

type Key = AnswerOf<'GET /api/keys'>['data'][number];
type Person = AnswerOf<'GET /api/users'>['data'][number];

/** Who may use the gateway: keys of programs, and the people behind them. */
export function KeysPage(): JSX.Element {
  const keys = useAnswer('GET /api/keys');
  const people = useAnswer('GET /api/users');
  const [isNew, setNew] = useState(false);
  const [shown, setShown] = useState<Person>();

  const remove = async (key: Key): Promise<void> => {
    const isMeant = await askFirst({
      title: `Delete the key “${key.name}”?`,
      text: 'Programs with it are locked out at once, and what belongs to it and its people is deleted.',
      action: 'Delete',
      isDangerous: true,
    });
    if (!isMeant) return;
    await call('DELETE /api/keys/:id', { params: { id: key.id } });
    say(`${key.name} is deleted.`);
    keys.reload();
    people.reload();
  };
  const nameOf = (id: string): string => keys.data?.data.find((key) => key.id === id)?.name ?? (id.startsWith('oidc_') ? 'OpenID' : id);

  return (
    <div class="page keys">
      <header>
        <h1>Keys and people</h1>
        <Button kind="main" icon="add" onClick={() => setNew(true)}>
          New key
        </Button>
      </header>
      <Answered asked={keys}>
        {({ data }) =>
          data.length === 0 ? (
            <p class="card">
              There is no key, so the gateway answers to this machine alone, and anybody on it may chat. The first key has to be an
              administrator’s.
            </p>
          ) : (
            <Table<Key>
              label="Keys"
              rows={data}
              keyOf={({ id }) => id}
              columns={[
                { title: 'Key', cell: ({ name }) => name },
                { title: 'Role', cell: ({ role }) => <span class="chip">{role === 'admin' ? 'administrator' : 'user'}</span> },
                {
                  title: 'Speaks for',
                  cell: ({ users }) => (users === null ? 'itself' : `people, by ${users.from === 'jwt' ? 'a signed token' : 'a header'}`),
                },
                { title: 'Limits', isMinor: true, cell: limitsOf },
                { title: 'Until', isMinor: true, cell: ({ expires_at: expires }) => (expires === null ? '' : formatDate(expires)) },
                {
                  title: 'Actions',
                  cell: (key) =>
                    key.origin === 'database' && (
                      <Button
                        isSmall
                        kind="quiet"
                        icon="trash"
                        label={`Delete the key ${key.name}`}
                        onClick={() => void remove(key).catch(sayProblem)}
                      />
                    ),
                },
              ]}
            />
          )
        }
      </Answered>
      {people.data !== undefined && people.data.data.length > 0 && (
        <section class="stack">
          <h2>People</h2>
          <Table<Person>
            label="People"
            rows={people.data.data}
            keyOf={({ key, id }) => `${key}/${id}`}
            columns={[
              { title: 'Person', cell: ({ name, id }) => name ?? id },
              { title: 'Address', isMinor: true, cell: ({ email = '' }) => email },
              { title: 'Behind', cell: ({ key }) => nameOf(key) },
              {
                title: 'Last seen',
                cell: ({ last }) => (
                  <time dateTime={last} title={formatDateTime(last)}>
                    {formatAgo(last)}
                  </time>
                ),
              },
              {
                title: 'Actions',
                cell: (person) => (
                  <Button isSmall onClick={() => setShown(person)}>
                    Manage
                  </Button>
                ),
              },
            ]}
          />
        </section>
      )}
      {isNew && <NewKeyDialog isFirst={keys.data?.data.length === 0} onClose={() => (setNew(false), keys.reload())} />}
      {shown !== undefined && (
        <PersonDialog
          person={shown}
          onClose={() => setShown(undefined)}
          onDeleted={() => {
            setShown(undefined);
            people.reload();
          }}
        />
      )}
    </div>
  );
}

function limitsOf({ limits, total_limits: total, models, tools }: Key): string {
  const parts = [
    ...Object.entries(limits ?? {}).map(([name, value]) => `${String(value)} ${name.replaceAll('_', ' ')}`),
    ...Object.entries(total ?? {}).map(([name, value]) => `${String(value)} ${name.replaceAll('_', ' ')} in all`),
    models === null ? '' : `${models.length} models`,
    tools === null ? '' : `${tools.length} tools`,
  ];
  return parts.filter(Boolean).join(', ');
}

function PersonDialog({ person, onClose, onDeleted }: { person: Person; onClose: () => void; onDeleted: () => void }): JSX.Element {
  const params = { key: person.key, id: person.id };
  const asked = useAnswer('GET /api/users/:key/:id/credentials', { params });
  const disconnect = async (server: string): Promise<void> => {
    await call('DELETE /api/users/:key/:id/credentials/:server', { params: { ...params, server } });
    say('Disconnected.');
    asked.reload();
  };
  const remove = async (): Promise<void> => {
    const isMeant = await askFirst({
      title: `Delete ${person.name ?? person.id}?`,
      text: 'Their runs and sessions end, and whatever is theirs is deleted. It does not lock them out: who comes again begins anew.',
      action: 'Delete',
      isDangerous: true,
    });
    if (!isMeant) return;
    await call('DELETE /api/users/:key/:id', { params });
    say(`${person.name ?? person.id} is deleted.`);
    onDeleted();
  };
  return (
    <Dialog
      title={person.name ?? person.id}
      onClose={onClose}
      actions={
        <Button kind="danger" icon="trash" onClick={() => void remove().catch(sayProblem)}>
          Delete this person
        </Button>
      }
    >
      <p class="mono small">{person.id}</p>
      <h3>Connected tool servers</h3>
      {asked.error !== undefined && <Problem error={asked.error} />}
      {asked.data === undefined ? (
        <Loading />
      ) : asked.data.data.length === 0 ? (
        <p class="soft">None.</p>
      ) : (
        <ul class="keys-accounts">
          {asked.data.data.map(({ server, name, state }) => (
            <li key={server} class="row">
              <span class="grow">{name}</span>
              <span class="chip">{state}</span>
              <Button isSmall onClick={() => void disconnect(server).catch(sayProblem)}>
                Disconnect
              </Button>
            </li>
          ))}
        </ul>
      )}
    </Dialog>
  );
}
