import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import type { AnswerOf } from '../../api/api-types.ts';
import { useAnswer } from '../../api/use-answer.ts';
import type { PageProps } from '../../shell/page.ts';
import { Button } from '../../parts/button.tsx';
import { formatShort } from '../../parts/formats.ts';
import { Answered, Empty } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
import { textOf } from '../../parts/text-of.ts';
import { AddToolServer } from './add-tool-server.tsx';
import { State } from './server-state.tsx';
import { ServerView } from './server-view.tsx';

type Listed = AnswerOf<'GET /api/tool-servers'>['data'][number];

/** What models can call: OpenAPI and MCP servers, their functions, and what is wrong with them. */
export function ToolServersPage({ params: { id } }: PageProps): JSX.Element {
  return id === undefined ? <ServerList /> : <ServerView key={id} id={id} />;
}

function ServerList(): JSX.Element {
  const asked = useAnswer('GET /api/tool-servers');
  const [isAdding, setAdding] = useState(false);
  const [, go] = useLocation();
  return (
    <div class="page tool-servers">
      <header>
        <h1>Tool servers</h1>
        <Button kind="main" icon="add" onClick={() => setAdding(true)}>
          Add a tool server
        </Button>
      </header>
      <Answered asked={asked}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon="plug" title="No tool servers yet">
              <p>Paste the address of an OpenAPI or MCP server, and every model can call its functions.</p>
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
                { title: 'State', cell: (server) => <State server={server} /> },
                { title: 'Functions', isNumber: true, cell: ({ report }) => report.functions.length },
                { title: 'Tokens', isNumber: true, isMinor: true, cell: ({ report }) => formatShort(report.tokens) },
                { title: 'Kind', isMinor: true, cell: ({ type }) => (type === 'mcp' ? 'MCP' : 'OpenAPI') },
                { title: 'Address', isMinor: true, cell: ({ url }) => <span class="mono small cut tool-servers-url">{url}</span> },
              ]}
            />
          )
        }
      </Answered>
      {isAdding && (
        <AddToolServer
          onClose={() => setAdding(false)}
          onAdded={(id) => {
            setAdding(false);
            go(`/console/tool-servers/${encodeURIComponent(id)}`);
          }}
        />
      )}
    </div>
  );
}
