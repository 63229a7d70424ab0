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
import { SentRequests, ServerAnswers } from './recorded-requests.tsx';
import { callsOf, recordCall } from './tried-calls.ts';
import type { Invoked, TriedCall } from './tried-calls.ts';

export interface TriedFunction {
  name: string;
  description: string;
  operation?: string;
  parameters: unknown;
}

/** Calls one function as a model would, with a form for its arguments. */
export function TryFunction({ server, fn, onClose }: { server: string; fn: TriedFunction; onClose: () => void }): JSX.Element {
  const schema = fn.parameters as JsonSchema;
  const tried = `${server}/${fn.name}`;
  const [args, setArgs] = useState<unknown>(() => initialValue(schema, schema) ?? {});
  // Other arguments come in a form of their own.
  const [turn, setTurn] = useState(0);
  const [answer, setAnswer] = useState<TriedCall>();
  const [isRunning, setRunning] = useState(false);
  const run = async (): Promise<void> => {
    setRunning(true);
    const begun = { tried, args: args ?? {}, time: Date.now() };
    const body = { arguments: begun.args, record_requests: true } as never;
    const made = await call('POST /api/tools/*', { params: { '*': `${tried}/invoke` }, body }).then(
      (invoked): TriedCall => ({ ...begun, invoked }),
      (error: unknown): TriedCall => ({ ...begun, error }),
    );
    recordCall(made);
    setAnswer(made);
    setRunning(false);
  };
  const takeArguments = (taken: unknown): void => {
    setArgs(taken);
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
            <p>It takes no arguments.</p>
          ) : (
            <SchemaForm key={turn} schema={schema} value={args} onChange={setArgs} />
          )}
        </form>
        <div class="row">
          <Button kind="main" type="submit" form="try-function" isBusy={isRunning}>
            Call it
          </Button>
          <span class="soft small mono">{fn.operation}</span>
        </div>
        <div aria-live="polite">{answer !== undefined && <Outcome key={answer.time} {...answer} />}</div>
        <EarlierCalls calls={callsOf(tried).filter((other) => other !== answer)} onTake={takeArguments} />
      </div>
    </Dialog>
  );
}

/** What was tried before, until the page is loaded again. */
function EarlierCalls({ calls, onTake }: { calls: readonly TriedCall[]; onTake: (args: unknown) => void }): JSX.Element | null {
  if (calls.length === 0) return null;
  return (
    <section class="stack">
      <h3>Earlier calls</h3>
      {calls.map((each) => (
        <EarlierCall key={each.time} call={each} onTake={onTake} />
      ))}
      <p class="soft small">They are gone when this page is loaded again.</p>
    </section>
  );
}

function EarlierCall({ call: { args, time, ...outcome }, onTake }: { call: TriedCall; onTake: (args: unknown) => void }): JSX.Element {
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
            <Button isSmall onClick={() => onTake(args)}>
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
  return text === '{}' ? 'without arguments' : text.length > shortCharacters ? `${text.slice(0, shortCharacters)}…` : text;
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
