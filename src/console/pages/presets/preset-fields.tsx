import type { JSX } from 'preact';
import { useQuery } from '../../api/use-query.ts';
import { Choices, toolChoices } from '../../parts/forms/choices.tsx';
import { modes, whenToSetMode } from '../../parts/forms/modes.ts';
import { MoreFields } from '../../parts/forms/more-fields.tsx';
import { hasMore } from './preset-draft.ts';
import type { PresetDraft } from './preset-draft.ts';

interface FieldsProps {
  draft: PresetDraft;
  set: (changes: Partial<PresetDraft>) => void;
}

/** An ID as people would choose it; empty for a name without letters and digits of ASCII. */
function idFrom(name: string): string {
  const words =
    name
      .normalize('NFKD')
      .toLowerCase()
      .replaceAll(/\p{M}/gu, '')
      .match(/[a-z0-9]+/g) ?? [];
  return words.join('-').slice(0, 64);
}

export function NameFields({ draft, set, isNew }: FieldsProps & { isNew: boolean }): JSX.Element {
  // Until somebody writes another one.
  const followsName = isNew && draft.id === idFrom(draft.name);
  return (
    <>
      <label class="field">
        Name
        <input
          autofocus={isNew}
          value={draft.name}
          maxLength={200}
          onInput={({ currentTarget: { value: name } }) => set({ name, ...(followsName && { id: idFrom(name) }) })}
          autocomplete="off"
          placeholder={draft.id === '' ? 'Town hall clerk' : draft.id}
        />
        <span class="about">Shown in lists of models.</span>
      </label>
      <label class="field">
        ID
        <input
          required
          disabled={!isNew}
          maxLength={64}
          pattern="[A-Za-z0-9][A-Za-z0-9._:\-]*"
          title="Letters, digits and . _ : -"
          value={draft.id}
          onInput={(event) => set({ id: event.currentTarget.value })}
          spellcheck={false}
          autocomplete="off"
          placeholder="town-hall-clerk"
        />
        <span class="about">The model ID that clients use.</span>
      </label>
    </>
  );
}

export function SystemPromptField({ draft, set }: FieldsProps): JSX.Element {
  return (
    <label class="field">
      System prompt
      <textarea
        rows={6}
        dir="auto"
        value={draft.system}
        onInput={(event) => set({ system: event.currentTarget.value })}
        placeholder="You are a clerk at the town hall. Answer briefly, and name the form people need."
      />
    </label>
  );
}

/** Folded fields: approvals, limits, handoffs and parameters. */
export function RarelyUsedFields({ draft, set }: FieldsProps): JSX.Element {
  return (
    <MoreFields summary="Approvals, limits and parameters" isUsed={hasMore(draft)}>
      <div class="stack">
        <ApprovalFields draft={draft} set={set} />
        <LimitFields draft={draft} set={set} />
        <HandoffFields draft={draft} set={set} />
        <ParameterField draft={draft} set={set} />
      </div>
    </MoreFields>
  );
}

export function ToolFields({ draft, set }: FieldsProps): JSX.Element {
  const tools = useQuery('GET /api/tools');
  return (
    <>
      <Choices
        legend="Tools"
        all="Default tools"
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
  ['unset', 'As set for each tool server'],
  ['all', 'For every call'],
  ['none', 'Never'],
  ['some', 'Only for these functions'],
] as const;

function ApprovalFields({ draft: { description, approval, approved }, set }: FieldsProps): JSX.Element {
  return (
    <>
      <label class="field">
        Description
        <input
          value={description}
          maxLength={2_000}
          onInput={(event) => set({ description: event.currentTarget.value })}
          autocomplete="off"
        />
        <span class="about">For people, and for models that can call this preset as a tool.</span>
      </label>
      <fieldset class="field group">
        <legend>Require approval</legend>
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
            aria-label="Functions that require approval, one per line"
            placeholder="send_mail"
            value={approved}
            onInput={(event) => set({ approved: event.currentTarget.value })}
            spellcheck={false}
          />
        )}
      </fieldset>
    </>
  );
}

function LimitFields({ draft, set }: FieldsProps): JSX.Element {
  return (
    <div class="fields">
      <label class="field">
        Maximum rounds of calls
        <input
          type="number"
          min={1}
          value={draft.maxRounds}
          placeholder="Gateway default"
          onInput={(event) => set({ maxRounds: event.currentTarget.value })}
        />
      </label>
      <label class="field">
        Timeout per call, in seconds
        <input
          type="number"
          min={0.1}
          step="any"
          value={draft.timeoutSeconds}
          placeholder="Gateway default"
          onInput={(event) => set({ timeoutSeconds: event.currentTarget.value })}
        />
      </label>
    </div>
  );
}

function HandoffFields({ draft: { id: own, agents }, set }: FieldsProps): JSX.Element | null {
  const presets = useQuery('GET /api/presets');
  const others = presets.data?.data.filter(({ id }) => id !== own) ?? [];
  if (others.length === 0) return null;
  return (
    <fieldset class="field group">
      <legend>Can hand off to</legend>
      <div class="choices">
        {others.map(({ id, name }) => (
          <label key={id}>
            <input
              type="checkbox"
              checked={agents.includes(id)}
              onChange={(event) => set({ agents: event.currentTarget.checked ? [...agents, id] : agents.filter((other) => other !== id) })}
            />{' '}
            {name ?? id}
          </label>
        ))}
      </div>
    </fieldset>
  );
}

function ParameterField({ draft, set }: FieldsProps): JSX.Element {
  return (
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
      <span class="about">JSON. A request can override them.</span>
    </label>
  );
}
