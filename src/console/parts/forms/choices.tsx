import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { AnswerOf } from '../../api/api-types.ts';
import { formatCount } from '../text/formats.ts';

export interface Choice {
  value: string;
  label: string;
  about?: string;
}

interface ChoicesProps {
  legend: string;
  /** Says what it means that nothing is chosen from the list, such as "All models". */
  all: string;
  choices: readonly Choice[];
  /** Undefined: `all`. */
  chosen: readonly string[] | undefined;
  onChange: (chosen: readonly string[] | undefined) => void;
}

/** Longer lists can be searched. */
const shortList = 8;

/** Everything, or some entries of a list. What is chosen and not in the list stays in it. */
export function Choices({ legend, all, choices, chosen, onChange }: ChoicesProps): JSX.Element {
  const [words, setWords] = useState('');
  const [name] = useState(() => `choices-${Math.random().toString(36).slice(2)}`);
  const gone = (chosen ?? []).filter((value) => !choices.some((choice) => choice.value === value));
  const listed = [...gone.map((value): Choice => ({ value, label: value, about: 'not here now' })), ...choices];
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
          {found.length === 0 && <p class="soft small">Nothing of that name.</p>}
        </div>
      )}
      {chosen?.length === 0 && <p class="about">None is chosen, so there is none.</p>}
    </fieldset>
  );
}

/** What `tool_ids` may name, of the functions that there are: whole servers, and functions that belong to none. */
export function toolChoices(tools: AnswerOf<'GET /api/tools'>['data']): Choice[] {
  const groups = Map.groupBy(tools, ({ kind, server, id }) => (kind === 'function' || kind === 'preset' ? id : `server:${server}`));
  return [...groups].map(([value, functions]) => ({
    value,
    label: value.replace(/^(?:server|preset|function):/, ''),
    about: value.startsWith('server:') ? formatCount(functions.length, 'function') : value.startsWith('preset:') ? 'preset' : 'function',
  }));
}
