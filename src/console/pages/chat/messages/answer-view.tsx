import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { Button } from '../../../parts/button.tsx';
import { CopyButton } from '../../../parts/copy-button.tsx';
import { Dialog } from '../../../parts/dialog.tsx';
import { formatCount, formatDuration, formatNumber } from '../../../parts/text/formats.ts';
import { Icon } from '../../../parts/icon.tsx';
import { JsonView } from '../../../parts/json-view.tsx';
import { Markdown } from '../../../parts/markdown/markdown.tsx';
import { CallCard } from './call-card.tsx';
import { formatCost } from '../format-cost.ts';
import { textOf } from '../state/chat.ts';
import type { Answer, ReasoningPart, Source } from '../state/chat.ts';
import { costOf } from '../state/models.ts';
import { ResultView } from './result-view.tsx';
import { UnavailableServers } from './unavailable-servers.tsx';
import { parseJson } from '../../../parts/text/parse-json.ts';

interface AnswerViewProps {
  answer: Answer;
  /** Changes with the answer, whose parts are changed in place while it is running. */
  revision: number;
  onRetry: (() => void) | undefined;
}

export function AnswerView({ answer, revision, onRetry }: AnswerViewProps): JSX.Element {
  const { parts, state, runId, error, warnings, sources } = answer;
  const isRunning = state === 'running';
  return (
    <div class="chat-answer" aria-busy={isRunning}>
      {parts.map((part, index) => {
        if (part.kind === 'text') return <Markdown key={index} text={part.text} />;
        if (part.kind === 'call') return <CallCard key={index} part={part} runId={isRunning ? runId : undefined} revision={revision} />;
        const { text, started, finished } = part;
        return <Reasoning key={index} text={text} started={started} finished={finished} />;
      })}
      {isRunning && parts.length === 0 && <span class="chat-thinking" role="status" aria-label="Waiting for the model" />}
      {isRunning && parts.length > 0 && !showsItself(parts.at(-1)) && <span class="chat-thinking" aria-hidden="true" />}
      {error !== undefined && (
        <div class="problem" role="alert">
          <Icon name="alert" />
          <div dir="auto">{error.message}</div>
          {onRetry !== undefined && (
            <Button isSmall icon="refresh" onClick={onRetry}>
              Try again
            </Button>
          )}
        </div>
      )}
      {state === 'done' && isEmpty(answer) && <p class="soft small">The model returned an empty answer.</p>}
      {state === 'cancelled' && <p class="soft small">Stopped.</p>}
      {warnings.map((warning) => (
        <p key={warning} class="chat-warning small" dir="auto">
          <Icon name="alert" size={15} /> {warning}
        </p>
      ))}
      {answer.unavailable !== undefined && <UnavailableServers messages={answer.unavailable} />}
      {sources.length > 0 && <Sources sources={sources} />}
      {!isRunning && <AnswerFoot answer={answer} onRetry={onRetry} />}
    </div>
  );
}

/** No text after the last call. */
function isEmpty({ parts }: Answer): boolean {
  const last = parts.findLast(({ kind }) => kind !== 'reasoning');
  return last?.kind !== 'text' || last.text.trim() === '';
}

/** Whether the last part of a running answer shows that it is running. */
function showsItself(last: Answer['parts'][number] | undefined): boolean {
  if (last?.kind === 'call') return last.state === 'running' || last.state === 'waiting';
  return last?.kind === 'reasoning' && last.finished === undefined;
}

type ReasoningProps = Pick<ReasoningPart, 'text' | 'started'> & { finished: number | undefined };

function Reasoning({ text, started, finished }: ReasoningProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  return (
    <details
      class="chat-reasoning"
      open={isOpen}
      onToggle={(event) => event.target === event.currentTarget && setOpen(event.currentTarget.open)}
    >
      <summary>
        {finished === undefined && <span class="spinner" />}
        {finished === undefined ? 'Thinking' : `Thought for ${formatDuration(finished - started)}`}
        <Icon name="down" size={15} />
      </summary>
      {isOpen && <Markdown text={text} />}
    </details>
  );
}

function AnswerFoot({ answer, onRetry }: { answer: Answer; onRetry: (() => void) | undefined }): JSX.Element {
  const { model, parts, usage, started, finished, runId, error } = answer;
  const cost = costOf(answer);
  return (
    <div class="chat-foot">
      {parts.some((part) => part.kind === 'text' && part.text !== '') && <CopyButton text={() => textOf(answer)} label="Copy answer" />}
      {/* An error has its own retry button. */}
      {onRetry !== undefined && error === undefined && <Button kind="quiet" isSmall icon="refresh" label="Regenerate" onClick={onRetry} />}
      {runId !== undefined && (
        <Link class="button quiet small" href={`/console/runs/${runId}`} title="Show each step of this run">
          <Icon name="run" size={16} />
          Run
        </Link>
      )}
      <span class="soft small">
        {[
          model,
          finished === undefined ? undefined : formatDuration(finished - started),
          usage === undefined || usage.completion_tokens === undefined ? undefined : formatTokens(usage),
          cost === undefined ? undefined : formatCost(cost),
        ]
          .filter(Boolean)
          .join(' · ')}
      </span>
    </div>
  );
}

/** 1,200 in, 80 out. */
function formatTokens({ prompt_tokens: input, completion_tokens: output = 0 }: NonNullable<Answer['usage']>): string {
  return input === undefined ? formatCount(output, 'token') : `${formatNumber(input)} in, ${formatNumber(output)} out`;
}

function Sources({ sources }: { sources: readonly Source[] }): JSX.Element {
  const [open, setOpen] = useState<Source>();
  return (
    <div class="chat-sources">
      {sources.map((source, index) => (
        <button key={index} type="button" class="chip" onClick={() => setOpen(source)}>
          <Icon name="link" size={13} />
          <span class="cut">{source.source.name.replace(/^TOOL:/, '')}</span>
        </button>
      ))}
      {open !== undefined && (
        <Dialog title={open.source.name.replace(/^TOOL:/, '')} kind="side" onClose={() => setOpen(undefined)}>
          {open.metadata.map(
            ({ parameters }, index) => parameters !== undefined && <JsonView key={index} value={parameters} label="Arguments" />,
          )}
          {open.document.map((text, index) => (
            <ResultView key={index} value={parsed(text)} />
          ))}
        </Dialog>
      )}
    </div>
  );
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}
