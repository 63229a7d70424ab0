import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Model } from '../../api/api-types.ts';
import { Button } from '../button.tsx';
import { Dialog } from '../dialog.tsx';
import { formatNumber } from '../text/formats.ts';
import { Icon } from '../icon.tsx';

interface ModelChoiceProps {
  /** Undefined until they are loaded. */
  models: readonly Model[] | undefined;
  model: string | undefined;
  onChange: (model: string) => void;
  class?: string;
}

/** A longer list opens in a dialog with a search field. */
const shortList = 20;
/** Further matches are not shown. */
const maxShown = 100;

/** Selects one of the gateway's models. A selected model that no longer exists stays selected. */
export function ModelChoice({ models, model, onChange, class: extra }: ModelChoiceProps): JSX.Element {
  const [isChoosing, setChoosing] = useState(false);
  const known = models?.find(({ id }) => id === model);
  const gone = models === undefined || model === undefined || known !== undefined ? undefined : `${model} (unavailable)`;
  if (models === undefined || models.length <= shortList)
    return (
      <select class={extra} aria-label="Model" value={model ?? ''} onChange={({ currentTarget: { value } }) => onChange(value)}>
        {models?.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
        {gone !== undefined && <option value={model}>{gone}</option>}
      </select>
    );
  const shown = known?.name ?? gone;
  return (
    <>
      <Button {...(extra !== undefined && { class: extra })} label={`Model: ${shown}`} onClick={() => setChoosing(true)}>
        <span class="cut">{shown}</span>
        <Icon name="down" size={15} />
      </Button>
      {isChoosing && (
        <SearchedModels
          models={models}
          model={model}
          onClose={() => setChoosing(false)}
          onChoose={(id) => {
            setChoosing(false);
            onChange(id);
          }}
        />
      )}
    </>
  );
}

interface SearchedModelsProps {
  models: readonly Model[];
  model: string | undefined;
  onClose: () => void;
  onChoose: (model: string) => void;
}

function SearchedModels({ models, model, onClose, onChoose }: SearchedModelsProps): JSX.Element {
  const [search, setSearch] = useState('');
  const words = search.toLowerCase().split(/\s+/);
  const found = models
    .filter(({ id, name }) => words.every((word) => `${id} ${name}`.toLowerCase().includes(word)))
    .toSorted((one, other) => Number(other.id === model) - Number(one.id === model));
  const [first] = found;
  return (
    <Dialog title="Model" onClose={onClose}>
      <input
        type="search"
        autofocus
        aria-label="Search models"
        placeholder="Search"
        value={search}
        onInput={(event) => setSearch(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.isComposing) return;
          // Enter must not submit the form around the dialog.
          event.preventDefault();
          if (first !== undefined) onChoose(first.id);
        }}
      />
      <div class="model-list">
        {found.slice(0, maxShown).map(({ id, name }) => (
          <button key={id} type="button" class="page-link" aria-current={id === model ? 'true' : undefined} onClick={() => onChoose(id)}>
            {name}
          </button>
        ))}
        <p class="soft small" role="status">
          {found.length === 0 && 'No matching models.'}
          {found.length > maxShown && `${formatNumber(found.length - maxShown)} more. Refine your search to see them.`}
        </p>
      </div>
    </Dialog>
  );
}
