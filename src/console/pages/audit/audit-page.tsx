import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { AnswerOf } from '../../api/api-types.ts';
import { nameOfCaller } from '../../api/caller-names.ts';
import { call } from '../../api/request.ts';
import { useQuery } from '../../api/use-query.ts';
import { Button } from '../../parts/button.tsx';
import { Empty, Loaded } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
import type { Column } from '../../parts/table.tsx';
import { Breakable } from '../../parts/text/breakable.tsx';
import { formatDateTime } from '../../parts/text/formats.ts';
import { showError } from '../../parts/toasts.tsx';

type Page = AnswerOf<'GET /api/audit'>;
type Entry = Page['data'][number];
type Caller = Entry['by'];

const kinds: Record<string, string> = {
  call: 'Approvals',
  credential: 'Accounts connected',
  tool_server: 'Tool servers',
  definition: 'Accepted definitions',
  key: 'Keys',
  person: 'People',
  backend: 'Backends',
  preset: 'Presets',
};

const actions: Record<Entry['action'], string> = {
  'key.create': 'created the key',
  'key.change': 'changed the key',
  'key.delete': 'deleted the key',
  'person.delete': 'deleted a person of the key',
  'tool_server.create': 'added the tool server',
  'tool_server.change': 'changed the tool server',
  'tool_server.replace': 'replaced all tool servers',
  'tool_server.delete': 'deleted the tool server',
  'definition.accept': 'accepted definitions of',
  'backend.create': 'added the backend',
  'backend.change': 'changed the backend',
  'backend.delete': 'deleted the backend',
  'preset.create': 'created the preset',
  'preset.change': 'changed the preset',
  'preset.delete': 'deleted the preset',
  'credential.connect': 'connected to',
  'credential.forget': 'disconnected from',
  'call.approve': 'approved a call of',
  'call.reject': 'rejected a call of',
};

interface Filters {
  from: string;
  to: string;
  action: string;
  caller: string;
}

const everything: Filters = { from: '', to: '', action: '', caller: '' };

/** Who changed and approved what. */
export function AuditPage(): JSX.Element {
  const [filters, setFilters] = useState(everything);
  const given = Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== ''));
  const query = useQuery('GET /api/audit', { query: given });
  return (
    <div class="page audit">
      <header>
        <h1>Audit</h1>
        <Button icon="refresh" isBusy={query.isLoading} onClick={query.reload}>
          Refresh
        </Button>
      </header>
      <p class="soft">Changes of the gateway, decisions on calls, and connected accounts of the last 90 days.</p>
      <FilterFields filters={filters} onChange={setFilters} />
      <Loaded query={query}>
        {(page) =>
          page.data.length === 0 ? (
            <Empty icon="eye" title="Nothing is recorded">
              <p>Nobody has changed or decided anything that fits these filters.</p>
            </Empty>
          ) : (
            <Entries key={JSON.stringify(given)} first={page} query={given} />
          )
        }
      </Loaded>
    </div>
  );
}

function FilterFields({ filters, onChange }: { filters: Filters; onChange: (filters: Filters) => void }): JSX.Element {
  const set = (name: keyof Filters, value: string): void => onChange({ ...filters, [name]: value });
  return (
    <form class="row" aria-label="Filter the audit log" onSubmit={(event) => event.preventDefault()}>
      <select aria-label="Kind" value={filters.action} onChange={(event) => set('action', event.currentTarget.value)}>
        <option value="">Everything</option>
        {Object.entries(kinds).map(([kind, words]) => (
          <option key={kind} value={kind}>
            {words}
          </option>
        ))}
      </select>
      {(['from', 'to'] as const).map((end) => (
        <input
          key={end}
          aria-label={end === 'from' ? 'First day' : 'Last day'}
          type="date"
          value={filters[end]}
          onChange={({ currentTarget: { value, validity } }) => validity.valid && set(end, value)}
        />
      ))}
      {filters.caller !== '' && (
        <Button icon="close" onClick={() => set('caller', '')}>
          Only {nameOfCaller(filters.caller)}
        </Button>
      )}
      <CallerField onChange={(caller) => set('caller', caller)} />
    </form>
  );
}

/** Keys can be chosen; people have too many. */
function CallerField({ onChange }: { onChange: (caller: string) => void }): JSX.Element {
  const keys = useQuery('GET /api/keys').data?.data ?? [];
  return (
    <select aria-label="Key" value="" onChange={(event) => onChange(event.currentTarget.value)}>
      <option value="">Any key</option>
      {keys.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  );
}

function Entries({ first, query }: { first: Page; query: Record<string, string> }): JSX.Element {
  const [more, setMore] = useState<{ data: Entry[]; next: string | null }>({ data: [], next: first.next });
  const [isBusy, setBusy] = useState(false);
  useEffect(() => setMore({ data: [], next: first.next }), [first]);
  const load = (): void => {
    setBusy(true);
    call('GET /api/audit', { query: { ...query, after: more.next ?? '' } })
      .then((page) => setMore({ data: [...more.data, ...page.data], next: page.next }), showError)
      .finally(() => setBusy(false));
  };
  return (
    <>
      <Table label="Audit log" columns={columns} rows={[...first.data, ...more.data]} keyOf={({ id }) => id} />
      {more.next !== null && (
        <Button isBusy={isBusy} onClick={load}>
          Show more
        </Button>
      )}
    </>
  );
}

const columns: Column<Entry>[] = [
  { title: 'Time', cell: ({ time }) => <time dateTime={time}>{formatDateTime(time)}</time> },
  { title: 'Who', cell: ({ by }) => <Breakable text={nameOf(by)} /> },
  {
    title: 'What',
    cell: ({ action, subject, owner }) => (
      <>
        {actions[action]} {subject !== null && <Breakable text={action.startsWith('key.') ? nameOfCaller(subject) : subject} />}
        {owner !== null && <> for {nameOf(owner)}</>}
      </>
    ),
  },
  { title: 'Details', isBelow: true, cell: ({ detail }) => <Breakable text={wordsOf(detail)} /> },
];

function nameOf({ key, user }: Caller): string {
  return nameOfCaller(user === null ? key : `${key}/${user}`);
}

function wordsOf(detail: Entry['detail']): string {
  return Object.entries(detail)
    .map(([name, value]) => `${name.replaceAll('_', ' ')}: ${Array.isArray(value) ? value.join(', ') : String(value)}`)
    .join('; ');
}
