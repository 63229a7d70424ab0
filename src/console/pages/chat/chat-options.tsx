import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useQuery } from '../../api/use-query.ts';
import { Button } from '../../parts/button.tsx';
import { Choices, toolChoices } from '../../parts/forms/choices.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { formatCount } from '../../parts/text/formats.ts';
import { modes, whenToSetMode } from '../../parts/forms/modes.ts';
import { Loaded, Problem } from '../../parts/states.tsx';
import { Parameters, Totals, type SettingChanges } from './chat-parameters.tsx';
import type { ChatSettings, Message } from './state/chat.ts';
import { addBrowserServer, changeBrowserServer, browserServers, removeBrowserServer } from './state/browser-servers.ts';

interface ChatOptionsProps {
  settings: ChatSettings;
  model: string | undefined;
  branch: readonly Message[];
  onChange: (settings: ChatSettings) => void;
  onClose: () => void;
}

/** Tools, mode, system prompt and parameters of a chat, which apply from the next question on, and its tokens and cost. */
export function ChatOptions({ settings, model, branch, onChange, onClose }: ChatOptionsProps): JSX.Element {
  const tools = useQuery('GET /api/tools');
  const set = (changes: SettingChanges): void =>
    onChange(Object.fromEntries(Object.entries({ ...settings, ...changes }).filter(([, value]) => value !== undefined)));
  return (
    <Dialog title="Tools and options" kind="side" onClose={onClose}>
      <div class="chat-options">
        <Loaded query={tools}>
          {({ data }) => (
            <Choices
              legend="Tools"
              all="Default tools"
              choices={toolChoices(data)}
              chosen={settings.toolIds}
              onChange={(toolIds) => set({ toolIds })}
            />
          )}
        </Loaded>
        <BrowserTools />
        <section class="stack">
          <h3>
            <label for="chat-mode">How the model uses tools</label>
          </h3>
          <select
            id="chat-mode"
            value={settings.mode ?? ''}
            onChange={({ currentTarget: { value } }) => set({ mode: value === '' ? undefined : value })}
          >
            {modes.map(({ value, label }) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
          <p class="soft small">{whenToSetMode}</p>
        </section>
        <section class="stack">
          <h3>
            <label for="chat-system">System prompt</label>
          </h3>
          <textarea
            id="chat-system"
            dir="auto"
            rows={4}
            placeholder="For example: Answer briefly, in Dutch."
            value={settings.system ?? ''}
            onInput={({ currentTarget: { value } }) => set({ system: value === '' ? undefined : value })}
          />
        </section>
        <Parameters settings={settings} onChange={set} />
        <Totals model={model} branch={branch} />
      </div>
    </Dialog>
  );
}

/** Tool servers that only this browser can reach. */
function BrowserTools(): JSX.Element {
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const add = async (form: HTMLFormElement): Promise<void> => {
    const data = new FormData(form);
    const [url, key] = ['url', 'key'].map((name) => data.get(name)).map((value) => (typeof value === 'string' ? value.trim() : ''));
    setBusy(true);
    setError(undefined);
    await addBrowserServer(url ?? '', key === '' ? undefined : key).then(() => form.reset(), setError);
    setBusy(false);
  };
  return (
    <section class="stack">
      <h3>Tools in this browser</h3>
      <p class="soft small">
        Tool servers on your own network, or ones you are signed in to. Calls are sent from this browser, never from the gateway.
      </p>
      {browserServers.value.map(({ url, name, isOn, functions }) => (
        <div key={url} class="own-server">
          <label>
            <input
              type="checkbox"
              checked={isOn}
              onChange={({ currentTarget: { checked } }) => changeBrowserServer(url, { isOn: checked })}
            />
            <span class="grow">
              {name} <span class="soft small">{url}</span>
            </span>
            <span class="soft small">{formatCount(functions, 'function')}</span>
          </label>
          <Button kind="quiet" isSmall icon="trash" label={`Remove ${name}`} onClick={() => removeBrowserServer(url)} />
        </div>
      ))}
      <form
        class="own-server-form"
        onSubmit={(event) => {
          event.preventDefault();
          void add(event.currentTarget);
        }}
      >
        <label class="field">
          Server URL
          <input name="url" inputMode="url" spellcheck={false} required placeholder="http://192.168.1.20:8000" />
        </label>
        <label class="field">
          API key (optional)
          <input name="key" type="password" autoComplete="off" />
        </label>
        <Button type="submit" icon="add" isBusy={isBusy}>
          Add
        </Button>
      </form>
      {error !== undefined && <Problem error={error} />}
    </section>
  );
}
