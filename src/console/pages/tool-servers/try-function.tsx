import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { AnswerOf } from '../../api/api-types.ts';
import { ApiError, call } from '../../api/request.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { formatDuration } from '../../parts/formats.ts';
import { initialValue } from '../../parts/json-schema.ts';
import type { JsonSchema } from '../../parts/json-schema.ts';
import { SchemaForm } from '../../parts/schema-form.tsx';
import { openConnectPage } from '../../parts/open-connect-page.ts';
import { Problem } from '../../parts/states.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { sayProblem } from '../../parts/toasts.tsx';
import { Files, ResultView } from '../chat/result-view.tsx';
import { SentRequests, ServerAnswers } from './recorded-requests.tsx';

export interface TriedFunction {
  name: string;
  description: string;
  operation?: string;
  parameters: unknown;
}

type Invoked = AnswerOf<'POST /api/tools/*'>;

/** Calls one function as a model would, with a form for its arguments. */
export function TryFunction({ server, fn, onClose }: { server: string; fn: TriedFunction; onClose: () => void }): JSX.Element {
  const schema = fn.parameters as JsonSchema;
  const [args, setArgs] = useState<unknown>(() => initialValue(schema, schema) ?? {});
  const [answer, setAnswer] = useState<{ count: number; invoked?: Invoked; error?: unknown }>();
  const [isRunning, setRunning] = useState(false);
  const run = async (): Promise<void> => {
    setRunning(true);
    const count = (answer?.count ?? 0) + 1;
    try {
      const body = { arguments: args ?? {}, record_requests: true } as never;
      setAnswer({ count, invoked: await call('POST /api/tools/*', { params: { '*': `${server}/${fn.name}/invoke` }, body }) });
    } catch (error) {
      setAnswer({ count, error });
    } finally {
      setRunning(false);
    }
  };
  return (
    <Dialog title={`Try ${fn.name}`} kind="side" isWide onClose={onClose}>
      <div class="stack">
        <p class="soft">{fn.description}</p>
        <form
          id="try-function"
          onSubmit={(event) => {
            event.preventDefault();
            void run();
          }}
        >
          {Object.keys(schema.properties ?? {}).length === 0 ? (
            <p>It takes no arguments.</p>
          ) : (
            <SchemaForm schema={schema} value={args} onChange={setArgs} />
          )}
        </form>
        <div class="row">
          <Button kind="main" type="submit" form="try-function" isBusy={isRunning}>
            Call it
          </Button>
          <span class="soft small mono">{fn.operation}</span>
        </div>
        <div aria-live="polite">{answer !== undefined && <Outcome key={answer.count} {...answer} />}</div>
      </div>
    </Dialog>
  );
}

function Outcome({ invoked, error }: { invoked?: Invoked; error?: unknown }): JSX.Element {
  if (error !== undefined)
    return (
      <div class="stack">
        <Problem error={error} />
        {serversToConnect(error).map(({ server, name }) => (
          <div key={server}>
            <Button kind="main" icon="external" onClick={() => void openConnectPage(server).catch(sayProblem)}>
              {`Connect to ${name}`}
            </Button>
          </div>
        ))}
      </div>
    );
  const {
    result,
    error: failure,
    files,
    requests = [],
    truncated,
    duration_ms: durationMs,
  } = (invoked ?? {}) as Partial<Extract<Invoked, { result: unknown }> & Extract<Invoked, { error: unknown }>>;
  return (
    <div class="stack">
      <h3>
        {failure === undefined ? 'It answered' : 'It failed'} <span class="soft small">{formatDuration(durationMs)}</span>
      </h3>
      <Tabs
        label="What came of the call"
        tabs={[
          {
            title: 'Result',
            content: () => (
              <div class="stack">
                {failure === undefined ? (
                  <ResultView value={result} />
                ) : (
                  <p class="bad">
                    {failure.message} <span class="mono small soft">{failure.code}</span>
                  </p>
                )}
                {truncated === true && <p class="soft small">A model reads this much at once, and the rest with read_result.</p>}
                {files !== undefined && <Files files={files} />}
              </div>
            ),
          },
          { title: 'Request', content: () => <SentRequests requests={requests} /> },
          { title: 'Answer', content: () => <ServerAnswers requests={requests} /> },
        ]}
      />
    </div>
  );
}

/** Of a call that lacks a credential of the person. */
function serversToConnect(error: unknown): { server: string; name: string }[] {
  if (!(error instanceof ApiError) || error.code !== 'credential_required') return [];
  const { connect } = (error.body ?? {}) as { connect?: { servers: { server: string; name: string }[] } };
  return connect?.servers ?? [];
}
