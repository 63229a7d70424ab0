import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { AnswerOf, ToolServer } from '../../api/api-types.ts';
import { call } from '../../api/request.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { formatDuration } from '../../parts/formats.ts';
import { JsonView } from '../../parts/json-view.tsx';
import { initialValue } from '../../parts/json-schema.ts';
import type { JsonSchema } from '../../parts/json-schema.ts';
import { SchemaForm } from '../../parts/schema-form.tsx';
import { Problem } from '../../parts/states.tsx';
import { Files, ResultView } from '../chat/result-view.tsx';

type Invoked = AnswerOf<'POST /api/tools/*'>;

/** Calls one function as a model would, with a form for its arguments. */
export function TryFunction({
  server,
  fn,
  onClose,
}: {
  server: string;
  fn: ToolServer['report']['functions'][number];
  onClose: () => void;
}): JSX.Element {
  const schema = fn.parameters as JsonSchema;
  const [args, setArgs] = useState<unknown>(() => initialValue(schema, schema) ?? {});
  const [answer, setAnswer] = useState<{ sent: unknown; invoked?: Invoked; error?: unknown }>();
  const [isRunning, setRunning] = useState(false);
  const run = async (): Promise<void> => {
    setRunning(true);
    const sent = args ?? {};
    try {
      const body = { arguments: sent } as never;
      setAnswer({ sent, invoked: await call('POST /api/tools/*', { params: { '*': `${server}/${fn.name}/invoke` }, body }) });
    } catch (error) {
      setAnswer({ sent, error });
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
        <div aria-live="polite">{answer !== undefined && <Outcome {...answer} />}</div>
      </div>
    </Dialog>
  );
}

function Outcome({ sent, invoked, error }: { sent: unknown; invoked?: Invoked; error?: unknown }): JSX.Element {
  if (error !== undefined) return <Problem error={error} />;
  const {
    result,
    error: failure,
    files,
    duration_ms: durationMs,
  } = (invoked ?? {}) as {
    result?: unknown;
    error?: { code: string; message: string };
    files?: { type: string; url?: string; name?: string }[];
    duration_ms?: number;
  };
  return (
    <div class="stack">
      <h3>
        {failure === undefined ? 'Result' : 'It failed'} <span class="soft small">{formatDuration(durationMs)}</span>
      </h3>
      {failure === undefined ? (
        <ResultView value={result} />
      ) : (
        <p class="bad">
          {failure.message} <span class="mono small soft">{failure.code}</span>
        </p>
      )}
      {files !== undefined && <Files files={files} />}
      <details>
        <summary class="small">What was sent</summary>
        <JsonView value={sent} label="Arguments" />
      </details>
    </div>
  );
}
