import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Preset } from '../../api/api-types.ts';
import { call } from '../../api/request.ts';
import { useQuery } from '../../api/use-query.ts';
import { Button } from '../../parts/button.tsx';
import { Choices, toolChoices } from '../../parts/forms/choices.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { MoreFields } from '../../parts/forms/more-fields.tsx';
import { ModelChoice } from '../../parts/forms/model-choice.tsx';
import { modes, whenToSetMode } from '../../parts/forms/modes.ts';
import { Loading, Problem } from '../../parts/states.tsx';
import { showToast } from '../../parts/toasts.tsx';
import { toDraft, toFields } from './preset-draft.ts';
import type { PresetDraft } from './preset-draft.ts';

interface PresetDialogProps {
  /** Without an id: a new one. */
  preset: Partial<Preset>;
  onClose: () => void;
  onSaved: () => void;
}

/** Makes a preset, or changes one. */
export function PresetDialog({ preset, onClose, onSaved }: PresetDialogProps): JSX.Element {
  const models = useQuery('GET /api/models');
  const [draft, setDraft] = useState(() => toDraft(preset));
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const isNew = preset.id === undefined;
  const choices = models.data?.data.filter((entry) => entry.id !== preset.id) ?? [];
  const model = draft.model === '' ? (choices[0]?.id ?? '') : draft.model;

  const save = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    const { id } = draft;
    try {
      const fields = toFields({ ...draft, model });
      const { warnings } = isNew
        ? await call('POST /api/presets', { body: { id, ...fields } })
        : await call('PATCH /api/presets/:id', { params: { id }, body: fields });
      showToast(warnings.length === 0 ? `${id} is saved.` : `${id} is saved. ${warnings.join(' ')}`);
      onSaved();
    } catch (failed) {
      setError(failed);
      setBusy(false);
    }
  };
  const set = (changes: Partial<PresetDraft>): void => setDraft((before) => ({ ...before, ...changes }));
  return (
    <Dialog
      title={isNew ? 'New preset' : `Edit ${preset.name ?? draft.id}`}
      isWide
      isForm
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="main" type="submit" form="preset" isBusy={isBusy} isDisabled={models.data === undefined}>
            Save
          </Button>
        </>
      }
    >
      {models.error !== undefined && <Problem error={models.error} retry={models.reload} />}
      {models.data === undefined && models.error === undefined && <Loading />}
      <form
        id="preset"
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <div class="fields">
          <label class="field">
            Id
            <input
              autofocus={isNew}
              required
              disabled={!isNew}
              maxLength={64}
              pattern="[A-Za-z0-9][A-Za-z0-9._:\-]*"
              title="Letters, digits and . _ : -"
              value={draft.id}
              onInput={(event) => set({ id: event.currentTarget.value })}
              spellcheck={false}
              autocomplete="off"
              placeholder="clerk"
            />
            <span class="about">The model that chats name.</span>
          </label>
          <label class="field">
            Name
            <input
              value={draft.name}
              maxLength={200}
              onInput={(event) => set({ name: event.currentTarget.value })}
              autocomplete="off"
              placeholder="as the id"
            />
            <span class="about">As people see it in a list.</span>
          </label>
          <div class="field">
            <span class="label">Model</span>
            <ModelChoice
              models={models.data && choices}
              model={model === '' ? undefined : model}
              onChange={(chosen) => set({ model: chosen })}
            />
            <span class="about">What answers. It may be another preset.</span>
          </div>
        </div>
        <label class="field">
          System prompt
          <textarea
            rows={6}
            value={draft.system}
            onInput={(event) => set({ system: event.currentTarget.value })}
            placeholder="You are a clerk of the town hall. Answer briefly, and name the form that people need."
          />
        </label>
        <ToolFields draft={draft} set={set} />
        <OtherFields draft={draft} set={set} />
        {error !== undefined && <Problem error={error} />}
      </form>
    </Dialog>
  );
}

interface FieldsProps {
  draft: PresetDraft;
  set: (changes: Partial<PresetDraft>) => void;
}

function ToolFields({ draft, set }: FieldsProps): JSX.Element {
  const tools = useQuery('GET /api/tools');
  return (
    <>
      <Choices
        legend="Tools"
        all="The defaults of every chat"
        choices={toolChoices(tools.data?.data ?? []).filter(({ value }) => value !== `preset:${draft.id}`)}
        chosen={draft.tools}
        onChange={(chosen) => set({ tools: chosen })}
      />
      <label class="field">
        How the model uses tools
        <select value={draft.mode} onChange={(event) => set({ mode: event.currentTarget.value })}>
          {modes.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
        <span class="about">{whenToSetMode}</span>
      </label>
    </>
  );
}

const approvals = [
  ['unset', 'As each tool server says'],
  ['all', 'For every call'],
  ['none', 'For none'],
  ['some', 'For these functions'],
] as const;

function OtherFields({ draft, set }: FieldsProps): JSX.Element {
  const presets = useQuery('GET /api/presets');
  const others = presets.data?.data.filter(({ id }) => id !== draft.id) ?? [];
  const { approval, agents } = draft;
  const isUsed = [draft.description, draft.maxRounds, draft.timeoutSeconds, draft.params].some((text) => text !== '');
  return (
    <MoreFields summary="Approvals, limits and parameters" isUsed={isUsed || approval !== 'unset' || agents.length > 0}>
      <div class="stack">
        <label class="field">
          Description
          <input
            value={draft.description}
            maxLength={2_000}
            onInput={(event) => set({ description: event.currentTarget.value })}
            autocomplete="off"
          />
          <span class="about">For people, and for models that may call it as a tool.</span>
        </label>
        <fieldset class="field group">
          <legend>A person is asked first</legend>
          <div class="choices">
            {approvals.map(([value, label]) => (
              <label key={value}>
                <input type="radio" name="approval" checked={approval === value} onChange={() => set({ approval: value })} /> {label}
              </label>
            ))}
          </div>
          {approval === 'some' && (
            <textarea
              rows={3}
              required
              aria-label="Functions that need an approval, a line each"
              placeholder="send_mail"
              value={draft.approved}
              onInput={(event) => set({ approved: event.currentTarget.value })}
              spellcheck={false}
            />
          )}
        </fieldset>
        <div class="fields">
          <label class="field">
            Rounds of calls, at most
            <input
              type="number"
              min={1}
              value={draft.maxRounds}
              placeholder="as set for this gateway"
              onInput={(event) => set({ maxRounds: event.currentTarget.value })}
            />
          </label>
          <label class="field">
            Seconds a call may take
            <input
              type="number"
              min={0.1}
              step="any"
              value={draft.timeoutSeconds}
              placeholder="as set for this gateway"
              onInput={(event) => set({ timeoutSeconds: event.currentTarget.value })}
            />
          </label>
        </div>
        {others.length > 0 && (
          <fieldset class="field group">
            <legend>May hand the chat over to</legend>
            <div class="choices">
              {others.map(({ id, name }) => (
                <label key={id}>
                  <input
                    type="checkbox"
                    checked={agents.includes(id)}
                    onChange={(event) =>
                      set({ agents: event.currentTarget.checked ? [...agents, id] : agents.filter((each) => each !== id) })
                    }
                  />{' '}
                  {name ?? id}
                </label>
              ))}
            </div>
          </fieldset>
        )}
        <label class="field">
          Model parameters
          <textarea
            class="code"
            rows={3}
            value={draft.params}
            placeholder='{"temperature": 0.2}'
            onInput={(event) => set({ params: event.currentTarget.value })}
            spellcheck={false}
          />
          <span class="about">JSON. They hold where a request has none of its own.</span>
        </label>
      </div>
    </MoreFields>
  );
}
