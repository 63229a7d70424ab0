import type { ComponentChildren, JSX } from 'preact';
import { Link } from 'wouter-preact';
import { mayAdminister } from '../../api/access.ts';
import type { AnswerOf } from '../../api/api-types.ts';
import { useQuery } from '../../api/use-query.ts';
import { Icon } from '../../parts/icon.tsx';
import { Command } from '../../parts/text/with-code.tsx';

type Backend = AnswerOf<'GET /ready'>['backends'][number];

/** Small enough for most machines, and able to call functions. */
const pull = <Command text="ollama pull qwen3:4b" />;
const health = <Link href="/console/health">Health</Link>;
const askWhom = 'Ask whoever runs this gateway.';

/** What the gateway lacks, and what to do about it. */
export function MissingParts(): JSX.Element | null {
  const state = useQuery('GET /ready', { everyMs: 15_000, isCached: true });
  const models = useQuery('GET /api/models', { everyMs: 15_000, isCached: true });
  if (state.data === undefined || models.data === undefined || mayAdminister.value === undefined) return null;
  const owners = models.data.data.map(({ owned_by: owner }) => owner);
  const { backends } = state.data;
  const faulty = backends.filter(isFaulty);
  const isWithoutModel = owners.every((owner) => owner === 'demo' || owner === 'toolwharf');
  return (
    <div class="missing">
      {isWithoutModel && (
        <Missing>
          <NoModel hasDemo={owners.includes('demo')} hasEmptyOllama={backends.some(isEmptyOllama)} />
        </Missing>
      )}
      {faulty.map((backend) => (
        <Missing key={backend.name}>
          <Fault backend={backend} />
        </Missing>
      ))}
    </div>
  );
}

function NoModel({ hasDemo, hasEmptyOllama }: { hasDemo: boolean; hasEmptyOllama: boolean }): JSX.Element {
  const isMine = mayAdminister.value === true;
  if (isMine && hasEmptyOllama) return <>Ollama runs, and has no model yet. Get one with {pull}</>;
  return (
    <>
      {hasDemo
        ? 'Only the demo model is here, which follows rules and is no language model. '
        : 'There is no model yet, so nothing can answer. '}
      {isMine ? (
        <>
          With{' '}
          <a href="https://ollama.com/download" target="_blank" rel="noopener noreferrer">
            Ollama
          </a>{' '}
          on this machine, get one with {pull}
        </>
      ) : (
        askWhom
      )}
    </>
  );
}

function isEmptyOllama({ name, state, models }: Backend): boolean {
  return name.startsWith('ollama') && state === 'ok' && models === 0;
}

/** An Ollama that is only looked for where it usually is may be missing. */
function isFaulty(backend: Backend): boolean {
  if (isEmptyOllama(backend)) return false;
  return backend.state === 'ok' ? backend.models === 0 : backend.optional !== true;
}

const faults: Record<Backend['state'], string> = {
  key_refused: 'refuses the gateway’s key',
  ok: 'answers, and lists no model',
  unreachable: 'does not answer, so its models are not here',
};

function Fault({ backend: { name, state } }: { backend: Backend }): JSX.Element {
  return (
    <>
      The backend <strong>{name}</strong> {faults[state]}. <Cure state={state} />
    </>
  );
}

function Cure({ state }: Pick<Backend, 'state'>): JSX.Element {
  if (mayAdminister.value !== true) return <>{askWhom}</>;
  if (state === 'key_refused')
    return (
      <>
        Correct it in <code>OPENAI_API_KEYS</code> or <code>toolwharf.yaml</code>, and start the gateway again. {health} says more.
      </>
    );
  return (
    <>
      {health} says {state === 'ok' ? 'what to do' : 'why'}.
    </>
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
