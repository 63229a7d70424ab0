import type { JSX } from 'preact';
import { formatNumber } from '../../parts/text/formats.ts';
import { formatCost } from './format-cost.ts';
import type { ChatSettings, Message } from './state/chat.ts';
import { contextOf, findModel, totalsOf } from './state/models.ts';

export type SettingChanges = { [Name in keyof ChatSettings]?: ChatSettings[Name] | undefined };

const efforts = ['minimal', 'low', 'medium', 'high'];

/** What the model itself is told. Empty fields leave it to the model. */
export function Parameters({ settings, onChange }: { settings: ChatSettings; onChange: (changes: SettingChanges) => void }): JSX.Element {
  const { temperature, maxTokens, reasoningEffort } = settings;
  const numberIn = (input: HTMLInputElement): number | undefined =>
    input.value === '' || !input.validity.valid ? undefined : input.valueAsNumber;
  return (
    <section class="stack">
      <h3>Parameters</h3>
      <div class="chat-parameters">
        <label class="field">
          Temperature
          <input
            type="number"
            min={0}
            max={2}
            step={0.1}
            placeholder="Default"
            value={temperature ?? ''}
            onInput={({ currentTarget }) => onChange({ temperature: numberIn(currentTarget) })}
          />
        </label>
        <label class="field">
          Maximum tokens
          <input
            type="number"
            min={1}
            step={1}
            placeholder="Default"
            value={maxTokens ?? ''}
            onInput={({ currentTarget }) => onChange({ maxTokens: numberIn(currentTarget) })}
          />
        </label>
        <label class="field">
          Reasoning effort
          <select
            value={reasoningEffort ?? ''}
            onChange={({ currentTarget: { value } }) => onChange({ reasoningEffort: value === '' ? undefined : value })}
          >
            <option value="">Default</option>
            {efforts.map((effort) => (
              <option key={effort} value={effort}>
                {effort}
              </option>
            ))}
          </select>
        </label>
      </div>
    </section>
  );
}

/** The tokens and the cost of the visible branch, and how full the context of the model is. */
export function Totals({ model, branch }: { model: string | undefined; branch: readonly Message[] }): JSX.Element | null {
  const { input, output, cost, context } = totalsOf(branch);
  const size = contextOf(findModel(model));
  if (input + output === 0 && size === undefined) return null;
  return (
    <section class="stack">
      <h3>This chat</h3>
      <dl class="chat-totals">
        <div>
          <dt>Input tokens</dt>
          <dd>{formatNumber(input)}</dd>
        </div>
        <div>
          <dt>Output tokens</dt>
          <dd>{formatNumber(output)}</dd>
        </div>
        {cost !== undefined && (
          <div>
            <dt>Cost</dt>
            <dd>{formatCost(cost)}</dd>
          </div>
        )}
        {size !== undefined && (
          <div>
            <dt>Context</dt>
            <dd>{context === undefined ? formatNumber(size) : `${formatNumber(context)} of ${formatNumber(size)}`}</dd>
          </div>
        )}
      </dl>
      {size !== undefined && context !== undefined && (
        <progress class="chat-context" value={Math.min(1, context / size)} aria-label="Context in use" />
      )}
    </section>
  );
}
