import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { mayAdminister } from '../../api/access.ts';
import type { AnswerOf } from '../../api/api-types.ts';
import { nameOfCaller } from '../../api/caller-names.ts';
import { call } from '../../api/request.ts';
import { useQuery } from '../../api/use-query.ts';
import { Button } from '../../parts/button.tsx';
import { confirm } from '../../parts/confirm.ts';
import { Empty, Loaded } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
import { formatAgo, formatDateTime } from '../../parts/text/formats.ts';
import { VisibleText } from '../../parts/text/visible-text.tsx';
import { showError, showToast } from '../../parts/toasts.tsx';
import { ConsentRequest } from './consent-request.tsx';

type Program = AnswerOf<'GET /api/clients'>['data'][number];

/** A program may be connected in another tab, so the list is reloaded this often. */
const refreshMs = 10_000;

/** Programs such as claude.ai that use the tools of the gateway for people who have allowed it. */
export function ProgramsPage(): JSX.Element {
  const query = useQuery('GET /api/clients', { everyMs: refreshMs });
  const isForAll = mayAdminister.value === true;
  const [asked, setAsked] = useState(() => new URLSearchParams(location.search).get('consent'));
  return (
    <div class="page programs">
      {asked !== null && <ConsentRequest id={asked} onClose={() => setAsked(null)} />}
      <header>
        <h1>Connected programs</h1>
      </header>
      {query.data?.data.length !== 0 && (
        <p class="soft">
          {isForAll
            ? 'These programs use the tools of this gateway for people who have allowed it.'
            : 'These programs use the tools of this gateway as you.'}
        </p>
      )}
      <Loaded query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon="link" title="No program is connected">
              <p>
                Programs such as claude.ai, ChatGPT or VS Code appear here when you add <code>{location.origin}/mcp</code> to them and allow
                the access.
              </p>
            </Empty>
          ) : (
            <ProgramTable programs={data} isForAll={isForAll} onChanged={query.reload} />
          )
        }
      </Loaded>
    </div>
  );
}

function ProgramTable({
  programs,
  isForAll,
  onChanged,
}: {
  programs: readonly Program[];
  isForAll: boolean;
  onChanged: () => void;
}): JSX.Element {
  const allowedBy = { title: 'Allowed by', isBelow: true, cell: AllowedBy };
  return (
    <Table<Program>
      label="Connected programs"
      rows={programs}
      keyOf={({ id }) => id}
      columns={[
        { title: 'Program', cell: ({ name }) => (name === null ? <span class="soft">no name</span> : <VisibleText text={name} />) },
        { title: 'Address', isBelow: true, cell: ({ redirect_hosts: hosts }) => <VisibleText text={hosts.join(', ')} /> },
        ...(isForAll ? [allowedBy] : []),
        { title: 'Last used', isBelow: true, cell: LastUsed },
        {
          title: 'Actions',
          isActions: true,
          cell: (program) => <Disconnect program={program} isForAll={isForAll} onChanged={onChanged} />,
        },
      ]}
    />
  );
}

function AllowedBy({ authorizations }: Program): JSX.Element {
  if (authorizations.length === 0) return <span class="soft">nobody yet</span>;
  return <>{[...new Set(authorizations.map(({ caller }) => nameOfCaller(caller)))].join('; ')}</>;
}

function LastUsed({ last_used: last }: Program): JSX.Element {
  if (last === null) return <span class="soft">never</span>;
  return (
    <time dateTime={last} title={formatDateTime(last)}>
      {formatAgo(last)}
    </time>
  );
}

function Disconnect({ program, isForAll, onChanged }: { program: Program; isForAll: boolean; onChanged: () => void }): JSX.Element {
  const { id, name } = program;
  const shown = name ?? 'the program';
  const disconnect = async (): Promise<void> => {
    const isConfirmed = await confirm({
      title: `Disconnect ${shown}?`,
      text: isForAll
        ? 'It loses its access for everybody who has allowed it, and its running calls end. People can allow it again.'
        : 'It loses its access to your tools, and its running calls end. You can allow it again.',
      action: 'Disconnect',
      isDangerous: true,
    });
    if (!isConfirmed) return;
    await call('DELETE /api/clients/:id', { params: { id } });
    showToast(`Disconnected ${shown}.`);
    onChanged();
  };
  return <Button isSmall kind="quiet" icon="trash" label={`Disconnect ${shown}`} onClick={() => void disconnect().catch(showError)} />;
}
