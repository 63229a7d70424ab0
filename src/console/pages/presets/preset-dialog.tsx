import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Preset } from '../../api/api-types.ts';
import { call } from '../../api/request.ts';
import { useQuery } from '../../api/use-query.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { ModelChoice } from '../../parts/forms/model-choice.tsx';
import { Loading, Problem } from '../../parts/states.tsx';
import { showToast } from '../../parts/toasts.tsx';
import { toDraft, toFields } from './preset-draft.ts';
import { NameFields, RarelyUsedFields, SystemPromptField, ToolFields } from './preset-fields.tsx';
import type { PresetDraft } from './preset-draft.ts';

interface PresetDialogProps {
  /** Without an id: a new preset. */
  preset: Partial<Preset>;
  onClose: () => void;
  onSaved: () => void;
}

/** Creates a preset, or changes one. */
export function PresetDialog({ preset, onClose, onSaved }: PresetDialogProps): JSX.Element {
  const models = useQuery('GET /api/models');
  const [draft, setDraft] = useState(() => toDraft(preset));
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const isNew = preset.id === undefined;
  const choices = models.data?.data.filter((model) => model.id !== preset.id) ?? [];
  const model = draft.model === '' ? (choices[0]?.id ?? '') : draft.model;
  const set = (changes: Partial<PresetDraft>): void => setDraft((before) => ({ ...before, ...changes }));
  const save = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      await savePreset({ ...draft, model }, isNew);
      onSaved();
    } catch (failed) {
      setError(failed);
      setBusy(false);
    }
  };
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
      <form id="preset" class="stack" onSubmit={(event) => (event.preventDefault(), void save())}>
        <div class="fields">
          <NameFields draft={draft} set={set} isNew={isNew} />
          <div class="field">
            <span class="label">Base model</span>
            <ModelChoice
              models={models.data && choices}
              model={model === '' ? undefined : model}
              onChange={(chosen) => set({ model: chosen })}
            />
            <span class="about">May be another preset.</span>
          </div>
        </div>
        <SystemPromptField draft={draft} set={set} />
        <ToolFields draft={draft} set={set} />
        <RarelyUsedFields draft={draft} set={set} />
        {error !== undefined && <Problem error={error} />}
      </form>
    </Dialog>
  );
}

async function savePreset(draft: PresetDraft, isNew: boolean): Promise<void> {
  const { id } = draft;
  const fields = toFields(draft);
  const { warnings } = isNew
    ? await call('POST /api/presets', { body: { id, ...fields } })
    : await call('PATCH /api/presets/:id', { params: { id }, body: fields });
  showToast([`${id} was saved.`, ...warnings].join(' '));
}
