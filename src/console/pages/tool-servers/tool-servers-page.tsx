import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import type { AnswerOf } from '../../api/api-types.ts';
import { useQuery } from '../../api/use-query.ts';
import type { PageProps } from '../../shell/page.ts';
import { Button } from '../../parts/button.tsx';
import { formatShort } from '../../parts/text/formats.ts';
import { Loaded, Empty } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
import { textOf } from '../../parts/text/text-of.ts';
import { AddToolServer } from './add-tool-server.tsx';
import { readPasted } from './add/read-pasted.ts';
import { State } from './server-state.tsx';
import { ServerView } from './server-view.tsx';

/** Servers that are down recover by themselves, so the list is reloaded this often. */
const refreshMs = 10_000;

type Listed = AnswerOf<'GET /api/tool-servers'>['data'][number];

/** The OpenAPI and MCP servers whose functions models can call, and their state. */
export function ToolServersPage({ params: { id } }: PageProps): JSX.Element {
  return id === undefined ? <ServerList /> : <ServerView key={id} id={id} />;
}

function ServerList(): JSX.Element {
  const query = useQuery('GET /api/tool-servers', { everyMs: refreshMs });
  // A link from the start page opens the dialog at once.
  const [adding, setAdding] = useState(() => (new URLSearchParams(location.search).has('add') ? '' : undefined));
  const [, go] = useLocation();
  return (
    <div class="page tool-servers">
      <header>
        <h1>Tool servers</h1>
        <Button kind="main" icon="add" onClick={() => setAdding('')}>
          Add a tool server
        </Button>
      </header>
      <PasteField onPasted={setAdding} />
      <Loaded query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon="plug" title="No tool servers yet">
              <p>Paste the URL of an OpenAPI or MCP server so that every model can call its functions.</p>
            </Empty>
          ) : (
            <Table<Listed>
              label="Tool servers"
              rows={data}
              keyOf={({ id }) => id}
              columns={[
                {
                  title: 'Server',
                  cell: ({ id, info }) => (
                    <Link href={`/console/tool-servers/${encodeURIComponent(id)}`}>{textOf(info['name']) || id}</Link>
                  ),
                },
                { title: 'Status', cell: (server) => <State server={server} /> },
                { title: 'Functions', isNumber: true, cell: ({ report }) => report.functions.length },
                { title: 'Tokens', isNumber: true, isBelow: true, cell: ({ report }) => formatShort(report.tokens) },
                { title: 'Type', isBelow: true, cell: ({ type }) => (type === 'mcp' ? 'MCP' : 'OpenAPI') },
                { title: 'URL', isBelow: true, cell: ({ url }) => <span class="mono small cut tool-servers-url">{url}</span> },
              ]}
            />
          )
        }
      </Loaded>
      {adding !== undefined && (
        <AddToolServer
          pasted={adding}
          onClose={() => setAdding(undefined)}
          onAdded={(id) => {
            setAdding(undefined);
            if (id === undefined) query.reload();
            else go(`/console/tool-servers/${encodeURIComponent(id)}`);
          }}
        />
      )}
    </div>
  );
}

/** What is pasted opens the dialog at once. */
function PasteField({ onPasted }: { onPasted: (text: string) => void }): JSX.Element {
  const [typed, setTyped] = useState('');
  return (
    <form
      class="tool-servers-paste"
      onSubmit={(event) => {
        event.preventDefault();
        onPasted(typed);
        setTyped('');
      }}
    >
      <input
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
        aria-label="Paste the URL of an OpenAPI or MCP server, a configuration or a command"
        placeholder="Paste a URL, mcpServers JSON, or npx …"
        autocomplete="off"
        spellcheck={false}
        onPaste={(event) => {
          const pasted = event.clipboardData?.getData('text/plain').trim() ?? '';
          if (readPasted(pasted).kind !== 'servers') return;
          event.preventDefault();
          onPasted(pasted);
        }}
      />
    </form>
  );
}
