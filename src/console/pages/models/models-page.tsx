import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import { useQuery } from '../../api/use-query.ts';
import { Button } from '../../parts/button.tsx';
import { Empty, Loaded } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
import type { PageProps } from '../../shell/page.ts';
import type { Backend } from './backend-draft.ts';
import { AddBackend } from './backend-dialog.tsx';
import { BackendState, originNames, typeNames } from './backend-state.tsx';
import { BackendView } from './backend-view.tsx';

/** Backends that are down recover by themselves, so the list is reloaded this often. */
const refreshMs = 10_000;

/** The servers of models: Ollama, OpenAI, Anthropic and compatible ones. */
export function ModelsPage({ params: { id } }: PageProps): JSX.Element {
  return id === undefined ? <BackendList /> : <BackendView key={id} id={id} />;
}

function BackendList(): JSX.Element {
  const query = useQuery('GET /api/backends', { everyMs: refreshMs });
  // A link from the start page opens the form at once.
  const [isAdding, setAdding] = useState(() => new URLSearchParams(location.search).has('add'));
  const [, go] = useLocation();
  return (
    <div class="page models">
      <header>
        <h1>Models</h1>
        <Button kind="main" icon="add" onClick={() => setAdding(true)}>
          Connect a model
        </Button>
      </header>
      <Loaded query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon="cube" title="No models yet">
              <p>Connect an Ollama, OpenAI, Anthropic, or any server with an OpenAI-compatible API. It is used at once.</p>
            </Empty>
          ) : (
            <Table<Backend>
              label="Backends"
              rows={data}
              keyOf={({ id }) => id}
              columns={[
                { title: 'Backend', cell: ({ id }) => <Link href={`/console/models/${encodeURIComponent(id)}`}>{id}</Link> },
                { title: 'Status', cell: (backend) => <BackendState backend={backend} /> },
                { title: 'Models', isNumber: true, cell: ({ model_count: count }) => count },
                { title: 'Type', isBelow: true, cell: ({ type }) => typeNames[type] },
                { title: 'URL', isBelow: true, cell: ({ url, urls = [] }) => <Urls urls={url === undefined ? urls : [url]} /> },
                { title: 'From', isBelow: true, cell: ({ origin, optional }) => (optional === true ? 'found here' : originNames[origin]) },
              ]}
            />
          )
        }
      </Loaded>
      {isAdding && (
        <AddBackend
          onClose={() => setAdding(false)}
          onAdded={(id) => {
            setAdding(false);
            go(`/console/models/${encodeURIComponent(id)}`);
          }}
        />
      )}
    </div>
  );
}

function Urls({ urls: [first = '', ...others] }: { urls: readonly string[] }): JSX.Element {
  return (
    <span class="mono small cut models-url" title={[first, ...others].join('\n')}>
      {first}
      {others.length > 0 && ` + ${others.length}`}
    </span>
  );
}
