import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { AnswerOf } from '../../api/api-types.ts';
import { formatCount } from '../text/formats.ts';

export interface ListOption {
  value: string;
  label: string;
  about?: string;
}

interface ChoicesProps {
  legend: string;
  /** The label for no restriction, such as "All models". */
  all: string;
  choices: readonly ListOption[];
  /** Undefined: `all`. */
  chosen: readonly string[] | undefined;
  onChange: (chosen: readonly string[] | undefined) => void;
}

/** A longer list has a search field. */
const shortList = 8;

/** Selects everything, or some options of a list. A selected option that no longer exists stays in the list. */
export function Choices({ legend, all, choices, chosen, onChange }: ChoicesProps): JSX.Element {
  const [words, setWords] = useState('');
  const [name] = useState(() => `choices-${Math.random().toString(36).slice(2)}`);
  const gone = (chosen ?? []).filter((value) => !choices.some((choice) => choice.value === value));
  const listed = [...gone.map((value): ListOption => ({ value, label: value, about: 'unavailable' })), ...choices];
  const found = listed.filter(({ value, label }) => `${value} ${label}`.toLowerCase().includes(words.toLowerCase().trim()));
  const toggle = (value: string, isOn: boolean): void =>
    onChange(isOn ? [...(chosen ?? []), value] : chosen?.filter((other) => other !== value));
  return (
    <fieldset class="field group">
      <legend>{legend}</legend>
      <div class="choices">
        <label>
          <input type="radio" name={name} checked={chosen === undefined} onChange={() => onChange(undefined)} /> {all}
        </label>
        <label>
          <input type="radio" name={name} checked={chosen !== undefined} onChange={() => onChange([])} /> Only these
        </label>
      </div>
      {chosen !== undefined && listed.length > shortList && (
        <input
          type="search"
          aria-label={`Search ${legend.toLowerCase()}`}
          placeholder="Search"
          value={words}
          onInput={(event) => setWords(event.currentTarget.value)}
        />
      )}
      {chosen !== undefined && (
        <div class="choice-list">
          {found.map(({ value, label, about }) => (
            <label key={value}>
              <input type="checkbox" checked={chosen.includes(value)} onChange={(event) => toggle(value, event.currentTarget.checked)} />
              <span class="grow">{label}</span>
              {about !== undefined && <span class="soft small">{about}</span>}
            </label>
          ))}
          {found.length === 0 && <p class="soft small">No matches.</p>}
        </div>
      )}
      {chosen?.length === 0 && <p class="about">{`No ${legend.toLowerCase()} selected.`}</p>}
    </fieldset>
  );
}

/** The possible entries of `tool_ids`: whole servers, and functions that belong to no server. */
export function toolChoices(tools: AnswerOf<'GET /api/tools'>['data']): ListOption[] {
  const groups = Map.groupBy(tools, ({ kind, server, id }) => (kind === 'function' || kind === 'preset' ? id : `server:${server}`));
  return [...groups].map(([value, functions]) => ({
    value,
    label: value.replace(/^(?:server|preset|function):/, ''),
    about: value.startsWith('server:') ? formatCount(functions.length, 'function') : value.startsWith('preset:') ? 'preset' : 'function',
  }));
}
