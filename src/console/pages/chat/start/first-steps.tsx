import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { mayAdminister } from '../../../api/access.ts';
import type { AnswerOf } from '../../../api/api-types.ts';
import { findProgram, wasProgramSeen } from '../../../api/program-requests.ts';
import { Button } from '../../../parts/button.tsx';
import { Icon } from '../../../parts/icon.tsx';
import { readItem, writeItem } from '../../../storage/local-items.ts';

const hiddenItem = 'first-steps';
const isHidden = signal(readItem(hiddenItem) === 'hidden');

interface Step {
  title: string;
  about: string;
  path: string;
  isDone: boolean;
}

interface FirstStepsProps {
  models: AnswerOf<'GET /api/models'>['data'];
  tools: AnswerOf<'GET /api/tools'>['data'];
}

/** What is left to set up, for administrators. Undefined if nothing is, or they do not want to see it. */
export function useFirstSteps(props: Partial<FirstStepsProps>): readonly Step[] | undefined {
  const { models, tools } = props;
  const hasProgram = useProgram();
  if (models === undefined || tools === undefined || mayAdminister.value !== true || isHidden.value) return undefined;
  const steps: Step[] = [
    {
      title: 'Connect a model',
      about: 'Ollama, OpenAI, Anthropic, or any compatible server',
      path: '/console/models?add',
      isDone: models.some(({ owned_by: owner }) => owner !== 'demo' && owner !== 'toolwharf'),
    },
    {
      title: 'Add tools',
      about: 'An OpenAPI or MCP server by its URL, or your mcpServers JSON',
      path: '/console/tool-servers?add',
      isDone: tools.some(({ server, kind }) => kind === 'function' || (kind !== 'preset' && server !== bundledServer)),
    },
    {
      title: 'Point your program here',
      about: 'Open WebUI, Claude Code, an SDK, … with your address and key',
      path: '/console/connect',
      isDone: hasProgram,
    },
  ];
  return steps.every(({ isDone }) => isDone) ? undefined : steps;
}

/** The clock that a new gateway brings. */
const bundledServer = 'time';

function useProgram(): boolean {
  const [isSeen, setSeen] = useState(wasProgramSeen);
  useEffect(() => {
    if (isSeen || mayAdminister.value !== true || isHidden.value) return undefined;
    const abort = new AbortController();
    void findProgram(abort.signal).then(setSeen, () => undefined);
    return () => abort.abort();
  }, [mayAdminister.value]);
  return isSeen;
}

export function FirstSteps({ steps }: { steps: readonly Step[] }): JSX.Element {
  const hide = (): void => {
    writeItem(hiddenItem, 'hidden');
    isHidden.value = true;
  };
  return (
    <section class="first-steps card" aria-labelledby="first-steps">
      <header class="row">
        <h2 id="first-steps" class="grow">
          Set up toolwharf
        </h2>
        <Button kind="quiet" isSmall onClick={hide}>
          Hide
        </Button>
      </header>
      <ol>
        {steps.map(({ title, about, path, isDone }, index) => (
          <li key={title} class={isDone ? 'done' : undefined}>
            <span class="first-steps-mark" aria-hidden="true">
              {isDone ? <Icon name="check" size={14} /> : index + 1}
            </span>
            <div>
              <Link href={path}>{title}</Link>
              {isDone && <span class="unseen"> (done)</span>}
              <p class="soft small">{about}</p>
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}
