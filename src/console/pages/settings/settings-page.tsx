import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { AnswerOf } from '../../api/api-types.ts';
import { useAnswer } from '../../api/use-answer.ts';
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
      <Health />
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

function Health(): JSX.Element {
  const asked = useAnswer('GET /ready', { everyMs: 10_000 });
  if (asked.error !== undefined && asked.data === undefined) return <Problem error={asked.error} retry={asked.reload} />;
  return (
    <details class="card">
      <summary>
        <span class="chip good">ready</span> Backends and tool servers as they are now
      </summary>
      <JsonView value={asked.data ?? {}} openTo={3} label="State" />
    </details>
  );
}
