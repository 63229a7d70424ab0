import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import type { AnswerOf } from '../../api/api-types.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { formatCount } from '../../parts/formats.ts';
import { JsonView } from '../../parts/json-view.tsx';
import { Answered, Problem } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';

type Setting = AnswerOf<'GET /api/settings'>['data'][number];

/** The settings in force, where each comes from, and whether all that the gateway needs is there. */
export function SettingsPage(): JSX.Element {
  const settings = useAnswer('GET /api/settings');
  const [isAll, setAll] = useState(false);
  return (
    <div class="page settings">
      <header>
        <h1>Settings</h1>
        <label class="row">
          <input type="checkbox" checked={isAll} onChange={(event) => setAll(event.currentTarget.checked)} />
          Defaults too
        </label>
      </header>
      <State />
      <Answered asked={settings}>
        {({ version, data, limits }) => {
          const shown = data.filter(({ origin }) => isAll || origin !== 'default');
          return (
            <>
              <p class="soft">
                toolwharf {version}. Settings are changed in the environment or in <code>toolwharf.yaml</code>, and hold from the next
                start.
              </p>
              {shown.length === 0 ? (
                <p>Nothing is set; everything has its default.</p>
              ) : (
                <Table<Setting>
                  label="Settings"
                  rows={shown}
                  keyOf={({ name }) => name}
                  columns={[
                    { title: 'Setting', cell: ({ name }) => <span class="mono small">{name}</span> },
                    { title: 'Value', cell: ({ value }) => <span class="mono small settings-value">{value ?? ''}</span> },
                    { title: 'From', cell: ({ origin }) => origin },
                  ]}
                />
              )}
              <details>
                <summary>Limits</summary>
                <JsonView value={limits} openTo={1} label="Limits" />
              </details>
            </>
          );
        }}
      </Answered>
    </div>
  );
}

/** Whether everything answers, in a line. */
function State(): JSX.Element | null {
  const asked = useAnswer('GET /ready', { everyMs: 10_000 });
  if (asked.data === undefined) return asked.error === undefined ? null : <Problem error={asked.error} retry={asked.reload} />;
  const { backends, tool_servers: servers } = asked.data;
  const silent = [
    ...backends.filter(({ state, optional }) => state !== 'ok' && optional !== true).map(({ name }) => name),
    ...servers.filter(({ state }) => state === 'unreachable').map(({ id }) => id),
  ];
  return (
    <p class="card row settings-state">
      <span class={`chip ${silent.length === 0 ? 'good' : 'warn'}`}>{silent.length === 0 ? 'ready' : 'in trouble'}</span>
      <span class="grow">
        {silent.length === 0
          ? `${formatCount(backends.filter(({ state }) => state === 'ok').length, 'backend')} and ${formatCount(servers.length, 'tool server')}, none in trouble.`
          : `Not as they should be: ${silent.join(', ')}.`}
      </span>
      <Link href="/console/health">Health</Link>
    </p>
  );
}
