import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { mayAdminister } from '../../api/access.ts';
import type { AnswerOf } from '../../api/api-types.ts';
import { identity } from '../../api/credential.ts';
import { key as enteredKey } from '../../api/key.ts';
import { findProgram } from '../../api/program-requests.ts';
import { useLive } from '../../api/use-live.ts';
import { useQuery } from '../../api/use-query.ts';
import { Button } from '../../parts/button.tsx';
import { CodeBlock } from '../../parts/code-block.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { ModelChoice } from '../../parts/forms/model-choice.tsx';
import { Icon } from '../../parts/icon.tsx';
import { NewKey } from '../../parts/new-key.tsx';
import { Loaded } from '../../parts/states.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { WithCode } from '../../parts/text/with-code.tsx';
import { CreateKey } from './create-key.tsx';
import { connectPrograms } from './programs.ts';
import type { Example, Program } from './programs.ts';

type Caller = AnswerOf<'GET /api/caller'>;

/** An open gateway takes any text. */
const anyKey = 'any';
const missingKey = 'YOUR_API_KEY';

/** The reader's own address and key, as each program takes them. */
export function ConnectPage(): JSX.Element {
  const caller = useQuery('GET /api/caller');
  return (
    <div class="page connect">
      <header>
        <h1>Connect a program</h1>
      </header>
      <Loaded query={caller}>{(found) => <Connections key={identity.value ?? ''} caller={found} />}</Loaded>
    </div>
  );
}

function Connections({ caller }: { caller: Caller }): JSX.Element {
  const [created, setCreated] = useState<string>();
  const [isCreating, setCreating] = useState(false);
  const [isKeyShown, setKeyShown] = useState(false);
  const { models, model, choose } = useChosenModel();
  const key = caller.is_open ? anyKey : (created ?? enteredKey.value ?? missingKey);
  const isSecret = key !== anyKey && key !== missingKey;
  const address = location.origin;
  const programs = connectPrograms({ address, key, model: model ?? 'demo' });
  const hide = (text: string): string => (isSecret && !isKeyShown ? text.replaceAll(key, masked(key)) : text);
  return (
    <>
      <section class="card stack">
        <dl class="connect-facts">
          <dt>Address</dt>
          <dd>
            <code>{address}</code>
          </dd>
          <dt>API key</dt>
          <dd class="row">
            <code>{hide(key)}</code>
            {isSecret && (
              <Button kind="quiet" isSmall icon="eye" isPressed={isKeyShown} onClick={() => setKeyShown(!isKeyShown)}>
                Show
              </Button>
            )}
            {mayAdminister.value === true && !caller.is_open && (
              <Button isSmall icon="add" onClick={() => setCreating(true)}>
                New key
              </Button>
            )}
          </dd>
          <dt>Model</dt>
          <dd>
            <ModelChoice models={models} model={model} onChange={choose} />
          </dd>
        </dl>
        <KeyNotice caller={caller} isNew={created !== undefined} />
        {created !== undefined && (
          <div class="connect-created" role="status">
            <h2>Your new key</h2>
            <NewKey created={created} />
          </div>
        )}
      </section>
      <Tabs
        label="Programs"
        tabs={programs.map((program) => ({ title: program.title, content: () => <Examples program={program} hide={hide} /> }))}
      />
      {mayAdminister.value === true && <FirstRequest />}
      {isCreating && (
        <CreateKey
          suggestion="A program"
          onClose={() => setCreating(false)}
          onCreated={(made) => {
            setCreating(false);
            setCreated(made);
          }}
        />
      )}
    </>
  );
}

/** A model that is more than the demo, if there is one. */
function useChosenModel() {
  const models = useQuery('GET /api/models', { isCached: true }).data?.data;
  const [chosen, choose] = useState<string>();
  const first = models?.find(({ owned_by: owner }) => owner !== 'demo') ?? models?.[0];
  return { models, model: chosen ?? first?.id, choose };
}

function KeyNotice({ caller, isNew }: { caller: Caller; isNew: boolean }): JSX.Element | null {
  if (caller.is_open)
    return (
      <p class="soft">
        This gateway has no keys yet: programs on this machine can use any text as the key.
        {mayAdminister.value === true && (
          <>
            {' '}
            To let in other machines, create keys under <Link href="/console/keys">Keys and people</Link>.
          </>
        )}
      </p>
    );
  if (isNew) return null;
  if (enteredKey.value === undefined)
    return (
      <Notice>
        You are signed in with an account, but programs need a key.
        {mayAdminister.value === true ? ' Create one for each program.' : ' Ask your administrator for one.'}
      </Notice>
    );
  return caller.role === 'admin' ? (
    <Notice>These examples contain your administrator key. Create a key for each program instead.</Notice>
  ) : (
    <p class="soft">These examples contain your own key. Programs that use it act as you.</p>
  );
}

function Notice({ children }: { children: ComponentChildren }): JSX.Element {
  return (
    <div class="notice">
      <Icon name="key" />
      <p>{children}</p>
    </div>
  );
}

function Examples({ program: { examples }, hide }: { program: Program; hide: (text: string) => string }): JSX.Element {
  return (
    <div class="stack connect-examples">
      {examples.map((example) => (
        <Shown key={example.text} example={example} hide={hide} />
      ))}
    </div>
  );
}

function Shown({ example: { text, code, language }, hide }: { example: Example; hide: (text: string) => string }): JSX.Element {
  return (
    <>
      <p>
        <WithCode text={text} />
      </p>
      {code !== undefined && language !== undefined && <CodeBlock code={hide(code)} language={language} whole={() => code} />}
      {code !== undefined && language === undefined && (
        <p>
          <span class="command">
            <code class="connect-value">{hide(code)}</code>
            <CopyButton text={() => code} label="Copy code" />
          </span>
        </p>
      )}
    </>
  );
}

/** Enough to tell keys apart. */
function masked(key: string): string {
  return `${key.slice(0, 6)}…${key.slice(-4)}`;
}

const pollMs = 3_000;

/** Says when the first program has reached the gateway. */
function FirstRequest(): JSX.Element {
  const [isOver, setOver] = useState(false);
  const { data: isSeen } = useLive(findProgram, { question: 'program', everyMs: isOver ? undefined : pollMs });
  useEffect(() => setOver(isSeen === true), [isSeen]);
  return (
    <p class="row connect-state" role="status">
      {isSeen === true ? (
        <>
          <span class="good">
            <Icon name="check" />
          </span>
          A program has reached this gateway. <Link href="/console/runs">See its runs</Link>
        </>
      ) : (
        <>
          <span class="spinner" /> Waiting for the first request of a program
        </>
      )}
    </p>
  );
}
