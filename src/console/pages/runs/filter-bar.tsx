import type { JSX } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { RunSummary } from '../../api/api-types.ts';
import { Button } from '../../parts/button.tsx';
import { nameOfCaller } from '../../api/caller-names.ts';
import { filterNames, periods } from './run-filters.ts';
import type { FilterName, Filters } from './run-filters.ts';
import { statusWords } from './run-words.ts';

interface FilterBarProps {
  filters: Filters;
  onChange: (name: FilterName, value: string) => void;
  onClear: () => void;
  /** Their models, functions and so on are suggested. */
  runs: readonly RunSummary[];
}

const folded = ['model', 'tool', 'server', 'caller', 'id'] as const satisfies readonly FilterName[];

export function FilterBar(props: FilterBarProps): JSX.Element {
  const { filters, onChange, onClear } = props;
  return (
    <form class="runs-filters" aria-label="Filter runs" onSubmit={(event) => event.preventDefault()}>
      <div class="row">
        <label>
          <span class="unseen">Status</span>
          <select value={filters.status ?? ''} onChange={(event) => onChange('status', event.currentTarget.value)}>
            <option value="">Any status</option>
            {Object.entries(statusWords).map(([status, { word }]) => (
              <option key={status} value={status}>
                {word}
              </option>
            ))}
          </select>
        </label>
        <label>
          <span class="unseen">Time</span>
          <select value={filters.period ?? ''} onChange={(event) => onChange('period', event.currentTarget.value)}>
            <option value="">Last 24 hours</option>
            {Object.entries(periods).map(([period, { words }]) => (
              <option key={period} value={period}>
                {words}
              </option>
            ))}
          </select>
        </label>
        <label class="runs-check">
          <input
            type="checkbox"
            checked={filters.errors === 'true'}
            onChange={(event) => onChange('errors', event.currentTarget.checked ? 'true' : '')}
          />
          With errors
        </label>
        {filterNames.some((name) => filters[name] !== undefined) && (
          <Button kind="quiet" icon="close" onClick={onClear}>
            Clear filters
          </Button>
        )}
      </div>
      <FoldedFilters {...props} />
    </form>
  );
}

function FoldedFilters({ filters, onChange, runs }: FilterBarProps): JSX.Element {
  const count = folded.filter((name) => filters[name] !== undefined).length;
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    if (count > 0) setOpen(true);
  }, [count]);
  const text = (name: FilterName, title: string, names: readonly string[] = []): JSX.Element => (
    <TextFilter
      title={title}
      value={filters[name] ?? ''}
      names={names}
      labelOf={name === 'caller' ? nameOfCaller : undefined}
      onChange={(value) => onChange(name, value)}
    />
  );
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>More filters{count > 0 && ` (${count})`}</summary>
      <div class="runs-fields">
        {text('model', 'Model', unique(runs.map(({ model }) => model)))}
        {text('tool', 'Function', unique(runs.flatMap(({ tools = [] }) => tools)))}
        {text('server', 'Tool server', unique(runs.flatMap(({ servers = [] }) => servers)))}
        {(filters.caller !== undefined || runs.some(({ caller }) => caller !== undefined)) &&
          text('caller', 'Key or person', unique(runs.flatMap(({ caller = '' }) => [caller, caller.split('/', 1)[0] ?? ''])))}
        {text('id', 'Run ID contains')}
      </div>
    </details>
  );
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)].filter((name) => name !== '').toSorted((one, other) => one.localeCompare(other));
}

interface TextFilterProps {
  title: string;
  value: string;
  names: readonly string[];
  /** The display name of an id. */
  labelOf: ((name: string) => string) | undefined;
  onChange: (value: string) => void;
}

/** Takes effect on Enter, when a suggestion is selected, or when the field loses focus. */
function TextFilter({ title, value, names, labelOf, onChange }: TextFilterProps): JSX.Element {
  const id = useId();
  const [typed, setTyped] = useState(value);
  // Otherwise leaving the field after going back would set the old value again.
  const isPending = useRef(false);
  useEffect(() => setTyped(value), [value]);
  const commit = (text: string): void => {
    if (isPending.current && text.trim() !== value) onChange(text.trim());
    isPending.current = false;
  };
  return (
    <label class="field">
      <span class="small">{title}</span>
      <input
        type="search"
        value={typed}
        list={id}
        autocomplete="off"
        spellcheck={false}
        onInput={({ currentTarget: { value: text } }) => {
          setTyped(text);
          isPending.current = true;
          if (text === '' || names.includes(text)) commit(text);
        }}
        onKeyDown={(event) => event.key === 'Enter' && commit(event.currentTarget.value)}
        onBlur={(event) => commit(event.currentTarget.value)}
      />
      <datalist id={id}>
        {names.map((name) => (
          <option key={name} value={name}>
            {labelOf?.(name) ?? name}
          </option>
        ))}
      </datalist>
    </label>
  );
}
