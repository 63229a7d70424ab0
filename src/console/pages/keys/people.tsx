import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { AnswerOf } from '../../api/api-types.ts';
import { call } from '../../api/request.ts';
import { useQuery } from '../../api/use-query.ts';
import { confirm } from '../../parts/confirm.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { formatAgo, formatDateTime } from '../../parts/text/formats.ts';
import { Problem } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
import { showToast, showError } from '../../parts/toasts.tsx';
import { Connections } from './connections.tsx';

export type Person = AnswerOf<'GET /api/users'>['data'][number];

interface PeopleProps {
  /** The name of a key by its id. */
  nameOf: (keyId: string) => string;
  /** Deleting a key deletes people: they are asked for again when this is another. */
  keys: unknown;
}

/** From this number on they can be searched. */
const manyPeople = 10;
const pageSize = 100;
/** The gateway gives no more at once. */
const mostPeople = 1_000;
/** After the last keystroke, in milliseconds. */
const pauseMs = 250;

/** The people behind keys, and those who came with tokens. */
export function People({ nameOf, keys }: PeopleProps): JSX.Element | null {
  const [words, setWords] = useState('');
  const [search, setSearch] = useState('');
  const [wanted, setWanted] = useState(pageSize);
  const [shown, setShown] = useState<Person>();
  const query = useQuery('GET /api/users', { query: { limit: Math.min(wanted + 1, mostPeople), ...(search !== '' && { search }) } });
  // What is listed stays until the next answer is there.
  const last = useRef<readonly Person[]>();
  if (query.data !== undefined) last.current = query.data.data;
  const found = last.current;
  useEffect(() => {
    if (words.trim() === search) return undefined;
    const timer = setTimeout(() => {
      setSearch(words.trim());
      setWanted(pageSize);
    }, pauseMs);
    return () => clearTimeout(timer);
  }, [words]);
  const listed = useRef(keys);
  useEffect(() => {
    if (listed.current !== keys) query.reload();
    listed.current = keys;
  }, [keys]);

  const problem = query.error !== undefined && <Problem error={query.error} retry={query.reload} />;
  if (found === undefined) return <>{problem}</>;
  if (found.length === 0 && search === '' && words === '') return null;
  return (
    <section class="stack">
      {problem}
      <div class="row keys-head">
        <h2>People</h2>
        {(found.length >= manyPeople || words !== '') && (
          <input
            type="search"
            class="keys-search"
            aria-label="Search people"
            placeholder="Name, address or id"
            value={words}
            onInput={(event) => setWords(event.currentTarget.value)}
          />
        )}
      </div>
      <Table<Person>
        label="People"
        rows={found.slice(0, wanted)}
        keyOf={({ key, id }) => `${key}/${id}`}
        columns={[
          { title: 'Person', cell: ({ name, id }) => name ?? id },
          { title: 'Address', isBelow: true, cell: ({ email = '' }) => email },
          { title: 'Key', isBelow: true, cell: ({ key }) => nameOf(key) },
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
            isActions: true,
            cell: (person) => (
              <Button isSmall label={`Manage ${person.name ?? person.id}`} onClick={() => setShown(person)}>
                Manage
              </Button>
            ),
          },
        ]}
      />
      {found.length === 0 && <p class="soft">Nobody of that name, address or id.</p>}
      {found.length > wanted && (
        <p>
          <Button isBusy={query.isLoading} onClick={() => setWanted(wanted + pageSize)}>
            Show more
          </Button>
        </p>
      )}
      {found.length === mostPeople && wanted >= mostPeople && <p class="soft">Whoever is not among these is found by searching.</p>}
      {shown !== undefined && (
        <PersonDialog
          person={shown}
          behind={nameOf(shown.key)}
          onClose={() => setShown(undefined)}
          onDeleted={() => {
            setShown(undefined);
            query.reload();
          }}
        />
      )}
    </section>
  );
}

interface PersonDialogProps {
  person: Person;
  behind: string;
  onClose: () => void;
  onDeleted: () => void;
}

function PersonDialog({ person, behind, onClose, onDeleted }: PersonDialogProps): JSX.Element {
  const params = { key: person.key, id: person.id };
  const called = person.name ?? person.id;
  const query = useQuery('GET /api/users/:key/:id/credentials', { params });
  const remove = async (): Promise<void> => {
    const isConfirmed = await confirm({
      title: `Delete ${called}?`,
      text: 'Their runs and sessions end, and whatever is theirs is deleted: chats, approvals, accounts. It does not lock them out: who comes again begins anew.',
      action: 'Delete',
      isDangerous: true,
    });
    if (!isConfirmed) return;
    await call('DELETE /api/users/:key/:id', { params });
    showToast(`${called} is deleted.`);
    onDeleted();
  };
  return (
    <Dialog
      title={called}
      onClose={onClose}
      actions={
        <Button icon="trash" onClick={() => void remove().catch(showError)}>
          Delete this person
        </Button>
      }
    >
      <dl class="keys-person">
        <dt>Id</dt>
        <dd class="mono">{person.id}</dd>
        {person.email !== undefined && (
          <>
            <dt>Address</dt>
            <dd>{person.email}</dd>
          </>
        )}
        <dt>Key</dt>
        <dd>{behind}</dd>
        <dt>Last seen</dt>
        <dd>{formatDateTime(person.last)}</dd>
      </dl>
      <Connections
        query={query}
        disconnect={(server) => call('DELETE /api/users/:key/:id/credentials/:server', { params: { ...params, server } })}
      />
    </Dialog>
  );
}
