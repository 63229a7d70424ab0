import type { ComponentChildren, JSX } from 'preact';
import { useAnswer } from '../../api/use-answer.ts';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Icon } from '../../parts/icon.tsx';

/** Small enough for most machines, and able to call functions. */
const suggestedModel = 'qwen3:4b';

/** What the gateway lacks, and what to do about it. */
export function MissingParts(): JSX.Element | null {
  const state = useAnswer('GET /ready', { everyMs: 15_000 });
  const models = useAnswer('GET /api/models', { everyMs: 15_000 });
  if (state.data === undefined || models.data === undefined) return null;
  const real = models.data.data.filter(({ owned_by: owner }) => owner !== 'demo' && owner !== 'toolwharf');
  const refused = state.data.backends.filter((backend) => backend.state === 'key_refused');
  const unreachable = state.data.backends.filter((backend) => backend.state === 'unreachable');
  const empty = state.data.backends.filter((backend) => backend.state === 'ok' && backend.models === 0);
  return (
    <div class="missing">
      {refused.map(({ name }) => (
        <Missing key={name}>
          The backend <strong>{name}</strong> refuses the gateway’s key. Correct it in <code>OPENAI_API_KEYS</code> and start again.
        </Missing>
      ))}
      {real.length === 0 && empty.length > 0 && (
        <Missing>
          Ollama runs, and has no model yet: <Command text={`ollama pull ${suggestedModel}`} />
        </Missing>
      )}
      {real.length === 0 && empty.length === 0 && (
        <Missing>
          Only the demo model is here, which follows rules and is no language model. With{' '}
          <a href="https://ollama.com/download" target="_blank" rel="noopener noreferrer">
            Ollama
          </a>{' '}
          on this machine, get one: <Command text={`ollama pull ${suggestedModel}`} />
        </Missing>
      )}
      {real.length > 0 &&
        unreachable.map(({ name }) => (
          <Missing key={name}>
            The backend <strong>{name}</strong> does not answer, so its models are not here.
          </Missing>
        ))}
    </div>
  );
}

function Missing({ children }: { children: ComponentChildren }): JSX.Element {
  return (
    <div class="missing-part">
      <Icon name="alert" size={16} />
      <p>{children}</p>
    </div>
  );
}

function Command({ text }: { text: string }): JSX.Element {
  return (
    <span class="missing-command">
      <code>{text}</code>
      <CopyButton text={() => text} label="Copy this command" />
    </span>
  );
}
