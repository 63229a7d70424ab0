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
  /** The name of a key with this id. */
  nameOf: (keyId: string) => string;
  /** People are reloaded when this changes, because deleting a key deletes people. */
  keys: unknown;
}

/** From this number on, people can be searched. */
const manyPeople = 10;
const pageSize = 100;
/** The gateway returns at most this many at once. */
const maxPeople = 1_000;
/** The pause after the last key press before a search, in milliseconds. */
const pauseMs = 250;

/** The people behind keys, and those with tokens of an OpenID provider. */
export function People({ nameOf, keys }: PeopleProps): JSX.Element | null {
  const [words, setWords] = useState('');
  const [shown, setShown] = useState<Person>();
  const { query, found, wanted, isSearching, showMore } = useFoundPeople(words, keys);
  const problem = query.error !== undefined && <Problem error={query.error} retry={query.reload} />;
  if (found === undefined) return <>{problem}</>;
  if (found.length === 0 && !isSearching) return null;
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
            placeholder="Name, email or ID"
            value={words}
            onInput={(event) => setWords(event.currentTarget.value)}
          />
        )}
      </div>
      <PeopleTable people={found.slice(0, wanted)} nameOf={nameOf} onManage={setShown} />
      {found.length === 0 && <p class="soft">No matching people.</p>}
      {found.length > wanted && (
        <p>
          <Button isBusy={query.isLoading} onClick={showMore}>
            Show more
          </Button>
        </p>
      )}
      {found.length === maxPeople && wanted >= maxPeople && <p class="soft">There may be more people. Search to find them.</p>}
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

interface FoundPeople {
  query: ReturnType<typeof useQuery<'GET /api/users'>>;
  /** Stays until the next answer arrives. Undefined before the first one. */
  found: readonly Person[] | undefined;
  wanted: number;
  isSearching: boolean;
  showMore: () => void;
}

function useFoundPeople(words: string, keys: unknown): FoundPeople {
  const [search, setSearch] = useState('');
  const [wanted, setWanted] = useState(pageSize);
  const query = useQuery('GET /api/users', { query: { limit: Math.min(wanted + 1, maxPeople), ...(search !== '' && { search }) } });
  const last = useRef<readonly Person[]>();
  if (query.data !== undefined) last.current = query.data.data;
  useEffect(() => {
    if (words.trim() === search) return undefined;
    const timer = setTimeout(() => {
      setSearch(words.trim());
      setWanted(pageSize);
    }, pauseMs);
    return () => clearTimeout(timer);
  }, [words]);
  const previousKeys = useRef(keys);
  useEffect(() => {
    if (previousKeys.current !== keys) query.reload();
    previousKeys.current = keys;
  }, [keys]);
  const isSearching = search !== '' || words !== '';
  return { query, found: last.current, wanted, isSearching, showMore: () => setWanted(wanted + pageSize) };
}

interface PeopleTableProps {
  people: readonly Person[];
  nameOf: PeopleProps['nameOf'];
  onManage: (person: Person) => void;
}

function PeopleTable({ people, nameOf, onManage }: PeopleTableProps): JSX.Element {
  return (
    <Table<Person>
      label="People"
      rows={people}
      keyOf={({ key, id }) => `${key}/${id}`}
      columns={[
        { title: 'Person', cell: ({ name, id }) => name ?? id },
        { title: 'Email', isBelow: true, cell: ({ email = '' }) => email },
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
            <Button isSmall label={`Manage ${person.name ?? person.id}`} onClick={() => onManage(person)}>
              Manage
            </Button>
          ),
        },
      ]}
    />
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
      text: 'Their runs and sessions end, and their chats, approvals and accounts are deleted. This does not block them: if they return, they start over.',
      action: 'Delete',
      isDangerous: true,
    });
    if (!isConfirmed) return;
    await call('DELETE /api/users/:key/:id', { params });
    showToast(`${called} was deleted.`);
    onDeleted();
  };
  return (
    <Dialog
      title={called}
      onClose={onClose}
      actions={
        <Button icon="trash" onClick={() => void remove().catch(showError)}>
          Delete person
        </Button>
      }
    >
      <dl class="keys-person">
        <dt>ID</dt>
        <dd class="mono">{person.id}</dd>
        {person.email !== undefined && (
          <>
            <dt>Email</dt>
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
