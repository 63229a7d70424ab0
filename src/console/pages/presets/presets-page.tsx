import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { AnswerOf, Preset } from '../../api/api-types.ts';
import { call } from '../../api/request.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { askFirst } from '../../parts/ask-first.tsx';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Answered, Empty, Problem } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
import { say, sayProblem } from '../../parts/toasts.tsx';

type Listed = AnswerOf<'GET /api/presets'>['data'][number];

/** Models with a prompt, tools and parameters of their own, which chats choose by their name. */
export function PresetsPage(): JSX.Element {
  const asked = useAnswer('GET /api/presets');
  const [edited, setEdited] = useState<Partial<Preset>>();
  const remove = async ({ id }: Listed): Promise<void> => {
    const isMeant = await askFirst({ title: `Delete ${id}?`, text: 'Chats can no longer choose it.', action: 'Delete', isDangerous: true });
    if (!isMeant) return;
    await call('DELETE /api/presets/:id', { params: { id } });
    say(`${id} is deleted.`);
    asked.reload();
  };
  return (
    <div class="page presets">
      <header>
        <h1>Presets</h1>
        <Button kind="main" icon="add" onClick={() => setEdited({})}>
          New preset
        </Button>
      </header>
      <Answered asked={asked}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon="preset" title="No presets yet">
              <p>A preset is a model with a prompt and tools of its own: a clerk, a researcher, a translator without tools.</p>
            </Empty>
          ) : (
            <Table<Listed>
              label="Presets"
              rows={data}
              keyOf={({ id }) => id}
              columns={[
                { title: 'Preset', cell: ({ id, name }) => name ?? id },
                { title: 'Model', cell: ({ base_model: model }) => model },
                {
                  title: 'Tools',
                  isMinor: true,
                  cell: ({ tools }) =>
                    tools === undefined || tools === null ? 'the defaults' : tools.length === 0 ? 'none' : tools.join(', '),
                },
                { title: 'About', isMinor: true, cell: ({ description }) => description ?? '' },
                {
                  title: 'Actions',
                  cell: (preset) =>
                    preset.origin === 'database' && (
                      <span class="row">
                        <Button isSmall onClick={() => setEdited(preset)}>
                          Edit
                        </Button>
                        <Button
                          isSmall
                          kind="quiet"
                          icon="trash"
                          label={`Delete ${preset.id}`}
                          onClick={() => void remove(preset).catch(sayProblem)}
                        />
                      </span>
                    ),
                },
              ]}
            />
          )
        }
      </Answered>
      {edited !== undefined && (
        <PresetDialog
          preset={edited}
          onClose={() => setEdited(undefined)}
          onSaved={() => {
            setEdited(undefined);
            asked.reload();
          }}
        />
      )}
    </div>
  );
}

function PresetDialog({ preset, onClose, onSaved }: { preset: Partial<Preset>; onClose: () => void; onSaved: () => void }): JSX.Element {
  const models = useAnswer('GET /api/models');
  const servers = useAnswer('GET /api/tool-servers');
  const [id, setId] = useState(preset.id ?? '');
  const [model, setModel] = useState(preset.base_model ?? '');
  const [system, setSystem] = useState(preset.system ?? '');
  const [tools, setTools] = useState<readonly string[] | undefined>(preset.tools ?? undefined);
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const isNew = preset.id === undefined;
  const choices = models.data?.data.filter((entry) => entry.id !== preset.id) ?? [];
  const chosen = model === '' ? (choices[0]?.id ?? '') : model;

  const save = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      const fields = { base_model: chosen, system: system === '' ? null : system, tools: tools === undefined ? null : [...tools] };
      const { warnings } = isNew
        ? await call('POST /api/presets', { body: { id, ...fields } })
        : await call('PATCH /api/presets/:id', { params: { id }, body: fields });
      say(warnings.length === 0 ? `${id} is saved.` : `${id} is saved. ${warnings.join(' ')}`);
      onSaved();
    } catch (failed) {
      setError(failed);
      setBusy(false);
    }
  };
  const toggle = (entry: string, isOn: boolean): void =>
    setTools(isOn ? [...(tools ?? []), entry] : (tools ?? []).filter((each) => each !== entry));
  return (
    <Dialog
      title={isNew ? 'New preset' : `Edit ${id}`}
      isWide
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="main" type="submit" form="preset" isBusy={isBusy}>
            Save
          </Button>
        </>
      }
    >
      <form
        id="preset"
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <label class="field">
          Name
          <input
            autofocus
            required
            disabled={!isNew}
            value={id}
            onInput={(event) => setId(event.currentTarget.value)}
            spellcheck={false}
            autocomplete="off"
          />
          <span class="about">As chats name it, such as clerk.</span>
        </label>
        <label class="field">
          Model
          <select value={chosen} onChange={(event) => setModel(event.currentTarget.value)}>
            {choices.map((entry) => (
              <option key={entry.id} value={entry.id}>
                {entry.name}
              </option>
            ))}
          </select>
        </label>
        <label class="field">
          System prompt
          <textarea rows={6} value={system} onInput={(event) => setSystem(event.currentTarget.value)} />
        </label>
        <fieldset class="field group">
          <legend>Tools</legend>
          <label class="field flag">
            <input
              type="checkbox"
              checked={tools === undefined}
              onChange={(event) => setTools(event.currentTarget.checked ? undefined : [])}
            />
            The defaults of every chat
          </label>
          {tools !== undefined &&
            servers.data?.data.map((server) => {
              const entry = `server:${server.id}`;
              return (
                <label key={entry} class="field flag">
                  <input type="checkbox" checked={tools.includes(entry)} onChange={(event) => toggle(entry, event.currentTarget.checked)} />
                  {server.id}
                </label>
              );
            })}
        </fieldset>
        {error !== undefined && <Problem error={error} />}
      </form>
    </Dialog>
  );
}
