import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { AnswerOf } from '../../api/api-types.ts';
import { call } from '../../api/request.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { askFirst } from '../../parts/ask-first.tsx';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { formatAgo, formatCount, formatDateTime } from '../../parts/formats.ts';
import { Table } from '../../parts/table.tsx';
import { say, sayProblem } from '../../parts/toasts.tsx';
import { Connections } from './connections.tsx';

export type Person = AnswerOf<'GET /api/users'>['data'][number];

interface PeopleProps {
  people: readonly Person[];
  /** The name of a key by its id. */
  nameOf: (keyId: string) => string;
  onDeleted: () => void;
}

/** From this number on they can be searched. */
const manyPeople = 10;
/** Further ones are found by searching. */
const shownPeople = 200;

/** The people behind keys, and those who came with tokens. */
export function People({ people, nameOf, onDeleted }: PeopleProps): JSX.Element {
  const [words, setWords] = useState('');
  const [shown, setShown] = useState<Person>();
  const found = people.filter(({ id, key, name = '', email = '' }) =>
    `${id} ${name} ${email} ${nameOf(key)}`.toLowerCase().includes(words.toLowerCase().trim()),
  );
  return (
    <section class="stack">
      <div class="row keys-head">
        <h2>People</h2>
        {people.length >= manyPeople && (
          <input
            type="search"
            class="keys-search"
            aria-label="Search people"
            placeholder={`Search ${formatCount(people.length, 'person', 'people')}`}
            value={words}
            onInput={(event) => setWords(event.currentTarget.value)}
          />
        )}
      </div>
      <Table<Person>
        label="People"
        rows={found.slice(0, shownPeople)}
        keyOf={({ key, id }) => `${key}/${id}`}
        columns={[
          { title: 'Person', cell: ({ name, id }) => name ?? id },
          { title: 'Address', isMinor: true, cell: ({ email = '' }) => email },
          { title: 'Behind', isMinor: true, cell: ({ key }) => nameOf(key) },
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
      {found.length === 0 && <p class="soft">Nobody of that name.</p>}
      {found.length > shownPeople && <p class="soft">And {found.length - shownPeople} more: search for them.</p>}
      {shown !== undefined && (
        <PersonDialog
          person={shown}
          behind={nameOf(shown.key)}
          onClose={() => setShown(undefined)}
          onDeleted={() => {
            setShown(undefined);
            onDeleted();
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
  const asked = useAnswer('GET /api/users/:key/:id/credentials', { params });
  const remove = async (): Promise<void> => {
    const isMeant = await askFirst({
      title: `Delete ${called}?`,
      text: 'Their runs and sessions end, and whatever is theirs is deleted: chats, approvals, accounts. It does not lock them out: who comes again begins anew.',
      action: 'Delete',
      isDangerous: true,
    });
    if (!isMeant) return;
    await call('DELETE /api/users/:key/:id', { params });
    say(`${called} is deleted.`);
    onDeleted();
  };
  return (
    <Dialog
      title={called}
      onClose={onClose}
      actions={
        <Button kind="danger" icon="trash" onClick={() => void remove().catch(sayProblem)}>
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
        <dt>Behind</dt>
        <dd>{behind}</dd>
        <dt>Last seen</dt>
        <dd>{formatDateTime(person.last)}</dd>
      </dl>
      <Connections
        asked={asked}
        disconnect={(server) => call('DELETE /api/users/:key/:id/credentials/:server', { params: { ...params, server } })}
      />
    </Dialog>
  );
}
