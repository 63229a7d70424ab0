import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import { call } from '../../api/request.ts';
import { useQuery } from '../../api/use-query.ts';
import { confirm } from '../../parts/confirm.ts';
import { Button } from '../../parts/button.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Loaded } from '../../parts/states.tsx';
import { formatNumber } from '../../parts/text/formats.ts';
import { VisibleText } from '../../parts/text/visible-text.tsx';
import { showError, showToast } from '../../parts/toasts.tsx';
import type { Backend } from './backend-draft.ts';
import { EditBackend } from './backend-dialog.tsx';
import { BackendState, originNames, typeNames } from './backend-state.tsx';
import { ModelTable } from './model-table.tsx';
import { VerificationView } from './verification-view.tsx';
import type { Verification } from './verification-view.tsx';

/** One backend: its state, settings and models. */
export function BackendView({ id }: { id: string }): JSX.Element {
  const query = useQuery('GET /api/backends/:id', { params: { id } });
  return (
    <div class="page models">
      {query.data === undefined && (
        <header>
          <Back />
          <h1 class="cut">{id}</h1>
        </header>
      )}
      <Loaded query={query}>{(backend) => <Shown backend={backend} onChanged={query.reload} />}</Loaded>
    </div>
  );
}

function Back(): JSX.Element {
  return (
    <Link href="/console/models" class="trail">
      Models
    </Link>
  );
}

function Shown({ backend, onChanged }: { backend: Backend; onChanged: () => void }): JSX.Element {
  const { id, origin, model_details: models = [], fault } = backend;
  const [isEditing, setEditing] = useState(false);
  const [report, setReport] = useState<Verification>();
  const [isTesting, setTesting] = useState(false);
  const [, go] = useLocation();
  const test = async (): Promise<void> => {
    setTesting(true);
    await call('POST /api/backends/:id/verify', { params: { id } }).then((tested) => (setReport(tested), onChanged()), showError);
    setTesting(false);
  };
  const remove = async (): Promise<void> => {
    const isConfirmed = await confirm({
      title: `Delete ${id}?`,
      text: 'Its models disappear from the list at once. Chats that are running finish.',
      action: 'Delete',
      isDangerous: true,
    });
    if (!isConfirmed) return;
    await call('DELETE /api/backends/:id', { params: { id } });
    showToast(`${id} was deleted.`);
    go('/console/models');
  };
  return (
    <>
      <header>
        <Back />
        <h1 class="cut">{id}</h1>
        <Button icon="refresh" isBusy={isTesting} onClick={() => void test()}>
          Test
        </Button>
        {origin === 'api' && <Button onClick={() => setEditing(true)}>Edit</Button>}
        {origin === 'api' && <Button kind="quiet" icon="trash" label="Delete" onClick={() => void remove().catch(showError)} />}
      </header>
      <Facts backend={backend} />
      {report !== undefined ? (
        <VerificationView report={report} />
      ) : (
        <>
          {fault !== null && backend.optional !== true && (
            <div class="problem" role="alert">
              <Icon name="alert" />
              <div>
                <p>
                  <VisibleText text={fault} />
                </p>
              </div>
              <Button isSmall isBusy={isTesting} onClick={() => void test()}>
                Find the reason
              </Button>
            </div>
          )}
          {models.length > 0 && <ModelTable models={models} hasLinks />}
        </>
      )}
      {isEditing && (
        <EditBackend
          backend={backend}
          onClose={() => setEditing(false)}
          onSaved={() => {
            setEditing(false);
            setReport(undefined);
            onChanged();
          }}
        />
      )}
    </>
  );
}

function Facts({ backend }: { backend: Backend }): JSX.Element {
  const { type, url, urls = [], origin, optional, has_key: hasKey, prefix, fallbacks = [], models } = backend;
  const { max_concurrent: most, queue } = backend;
  return (
    <dl class="models-facts">
      <Fact title="Status">
        <BackendState backend={backend} />
      </Fact>
      <Fact title="Type">{typeNames[type]}</Fact>
      <Fact title={urls.length > 1 ? 'URLs' : 'URL'}>
        {(url === undefined ? urls : [url]).map((each) => (
          <div key={each} class="mono">
            {each}
          </div>
        ))}
      </Fact>
      <Fact title="API key">{hasKey ? 'stored' : 'none'}</Fact>
      {prefix !== undefined && <Fact title="Prefix">{`${prefix}/`}</Fact>}
      {most !== undefined && (
        <Fact title="Concurrent requests">
          {`${formatNumber(most)}${queue === undefined ? '' : `, and ${formatNumber(queue)} in the queue`}`}
        </Fact>
      )}
      {fallbacks.length > 0 && <Fact title="Fallback models">{fallbacks.join(', ')}</Fact>}
      {models !== undefined && <Fact title="Only these models">{models.join(', ')}</Fact>}
      {origin !== 'api' && (
        <Fact title="From">
          {optional === true ? 'the usual address of an Ollama. It is used while it answers.' : `${originNames[origin]}. Change it there.`}
        </Fact>
      )}
    </dl>
  );
}

function Fact({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <>
      <dt>{title}</dt>
      <dd>{children}</dd>
    </>
  );
}
