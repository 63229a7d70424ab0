import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ApiError, call } from '../../api/request.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { formatClock, formatDuration } from '../../parts/text/formats.ts';
import { JsonView } from '../../parts/json-view.tsx';
import { initialValue } from '../../parts/forms/json-schema.ts';
import type { JsonSchema } from '../../parts/forms/json-schema.ts';
import { SchemaForm } from '../../parts/forms/schema-form.tsx';
import { openConnectPage } from '../../api/open-connect-page.ts';
import { Problem } from '../../parts/states.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { showError } from '../../parts/toasts.tsx';
import { Files, ResultView } from '../chat/messages/result-view.tsx';
import { SentRequests, ServerResponses } from './recorded-requests.tsx';
import { callsOf, recordCall } from './tried-calls.ts';
import type { Invoked, TriedCall } from './tried-calls.ts';

export interface TriedFunction {
  name: string;
  description: string;
  operation?: string;
  parameters: unknown;
}

/** Calls a function as a model would, with a form for its arguments. */
export function TryFunction({ server, fn, onClose }: { server: string; fn: TriedFunction; onClose: () => void }): JSX.Element {
  const schema = fn.parameters as JsonSchema;
  const tried = `${server}/${fn.name}`;
  const [args, setArgs] = useState<unknown>(() => initialValue(schema, schema) ?? {});
  // Replaced arguments get a new form.
  const [turn, setTurn] = useState(0);
  const [latest, setLatest] = useState<TriedCall>();
  const [isRunning, setRunning] = useState(false);
  const run = async (): Promise<void> => {
    setRunning(true);
    const started = { tried, args: args ?? {}, time: Date.now() };
    const body = { arguments: started.args, record_requests: true } as never;
    const outcome = await call('POST /api/tools/*', { params: { '*': `${tried}/invoke` }, body }).then(
      (invoked): TriedCall => ({ ...started, invoked }),
      (error: unknown): TriedCall => ({ ...started, error }),
    );
    recordCall(outcome);
    setLatest(outcome);
    setRunning(false);
  };
  const reuseArguments = (args: unknown): void => {
    setArgs(args);
    setTurn(turn + 1);
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
            <p>This function takes no arguments.</p>
          ) : (
            <SchemaForm key={turn} schema={schema} value={args} onChange={setArgs} />
          )}
        </form>
        <div class="row">
          <Button kind="main" type="submit" form="try-function" isBusy={isRunning}>
            Run
          </Button>
          <span class="soft small mono">{fn.operation}</span>
        </div>
        <div aria-live="polite">{latest !== undefined && <Outcome key={latest.time} {...latest} />}</div>
        <EarlierCalls calls={callsOf(tried).filter((other) => other !== latest)} onReuse={reuseArguments} />
      </div>
    </Dialog>
  );
}

/** Earlier calls, until the page is reloaded. */
function EarlierCalls({ calls, onReuse }: { calls: readonly TriedCall[]; onReuse: (args: unknown) => void }): JSX.Element | null {
  if (calls.length === 0) return null;
  return (
    <section class="stack">
      <h3>Earlier calls</h3>
      {calls.map((each) => (
        <EarlierCall key={each.time} call={each} onReuse={onReuse} />
      ))}
      <p class="soft small">Earlier calls are removed when you reload this page.</p>
    </section>
  );
}

function EarlierCall({ call: { args, time, ...outcome }, onReuse }: { call: TriedCall; onReuse: (args: unknown) => void }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const hasFailed = outcome.error !== undefined || (outcome.invoked !== undefined && 'error' in outcome.invoked);
  return (
    <details class="card earlier-call" onToggle={(event) => event.target === event.currentTarget && setOpen(event.currentTarget.open)}>
      <summary>
        {formatClock(time)} <span class="mono small soft">{shortArguments(args)}</span>
        {hasFailed && <span class="chip bad">failed</span>}
      </summary>
      {isOpen && (
        <div class="stack">
          <JsonView value={args} />
          <div>
            <Button isSmall onClick={() => onReuse(args)}>
              Use these arguments
            </Button>
          </div>
          <Outcome {...outcome} />
        </div>
      )}
    </details>
  );
}

const shortCharacters = 60;

function shortArguments(args: unknown): string {
  const text = JSON.stringify(args);
  return text === '{}' ? 'no arguments' : text.length > shortCharacters ? `${text.slice(0, shortCharacters)}…` : text;
}

function Outcome({ invoked, error }: { invoked?: Invoked; error?: unknown }): JSX.Element {
  if (error !== undefined)
    return (
      <div class="stack">
        <Problem error={error} />
        {serversToConnect(error).map(({ server, name }) => (
          <div key={server}>
            <Button kind="main" icon="external" onClick={() => void openConnectPage(server).catch(showError)}>
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
        {failure === undefined ? 'Succeeded' : 'Failed'} <span class="soft small">{formatDuration(durationMs)}</span>
      </h3>
      <Tabs
        label="Outcome of the call"
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
                {truncated === true && <p class="soft small">The model reads only this part, and can request the rest with read_result.</p>}
                {files !== undefined && <Files files={files} />}
              </div>
            ),
          },
          { title: 'Request', content: () => <SentRequests requests={requests} /> },
          { title: 'Response', content: () => <ServerResponses requests={requests} /> },
        ]}
      />
    </div>
  );
}

/** The servers to connect to, if the call failed because the person's credential is missing. */
function serversToConnect(error: unknown): { server: string; name: string }[] {
  if (!(error instanceof ApiError) || error.code !== 'credential_required') return [];
  const { connect } = (error.body ?? {}) as { connect?: { servers: { server: string; name: string }[] } };
  return connect?.servers ?? [];
}
