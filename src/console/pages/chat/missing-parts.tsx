import type { ComponentChildren, JSX } from 'preact';
import { Link } from 'wouter-preact';
import { mayAdminister } from '../../api/access.ts';
import type { AnswerOf } from '../../api/api-types.ts';
import { useQuery } from '../../api/use-query.ts';
import { Icon } from '../../parts/icon.tsx';
import { Command } from '../../parts/text/with-code.tsx';

type Backend = AnswerOf<'GET /ready'>['backends'][number];

/** A model that fits most machines and can call functions. */
const pull = <Command text="ollama pull qwen3:4b" />;
const health = <Link href="/console/health">Health</Link>;
const askAdministrator = 'Ask your administrator.';

/** Missing models and unavailable backends, and how to fix that. */
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
  if (isMine && hasEmptyOllama) return <>Ollama is running but has no model yet. Get one with {pull}</>;
  return (
    <>
      {hasDemo
        ? 'Only the demo model is available. It follows fixed rules and is not a language model. '
        : 'There are no models yet, so chats can’t be answered. '}
      {isMine ? (
        <>
          <Link href="/console/models?add">Connect a model</Link>, or install{' '}
          <a href="https://ollama.com/download" target="_blank" rel="noopener noreferrer">
            Ollama
          </a>{' '}
          on this machine and get one with {pull}
        </>
      ) : (
        askAdministrator
      )}
    </>
  );
}

function isEmptyOllama({ name, state, models }: Backend): boolean {
  return name.startsWith('ollama') && state === 'ok' && models === 0;
}

/** A backend that is only looked for at its usual address may be missing. */
function isFaulty(backend: Backend): boolean {
  if (isEmptyOllama(backend)) return false;
  if (backend.state === 'partly_unreachable') return false;
  return backend.state === 'ok' ? backend.models === 0 : backend.optional !== true;
}

const faults: Record<Backend['state'], string> = {
  key_refused: 'rejected the gateway’s API key',
  ok: 'responds but lists no models',
  unreachable: 'is not responding, so its models are unavailable',
};

function Fault({ backend: { name, state } }: { backend: Backend }): JSX.Element {
  return (
    <>
      The backend <strong>{name}</strong> {faults[state]}. <Cure state={state} />
    </>
  );
}

function Cure({ state }: Pick<Backend, 'state'>): JSX.Element {
  if (mayAdminister.value !== true) return <>{askAdministrator}</>;
  if (state === 'key_refused')
    return (
      <>
        See <Link href="/console/models">Models</Link> for where its key is set, and {health} for details.
      </>
    );
  return (
    <>
      See {health} for {state === 'ok' ? 'how to fix it' : 'the reason'}.
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
