import type { ComponentChildren, JSX } from 'preact';
import type { AnswerOf } from '../../api/api-types.ts';
import { formatCount, formatNumber } from '../../parts/formats.ts';
import { Icon } from '../../parts/icon.tsx';

export type Preview = AnswerOf<'POST /api/tool-servers/verify'>;

export interface Chosen {
  isChosen: (name: string) => boolean;
  onChoose: (name: string, isChosen: boolean) => void;
}

interface ReportViewProps {
  report: Preview;
  /** Shows a box beside each function. */
  chosen?: Chosen;
  /** What stands at the end of a function's line. */
  actions?: (fn: Preview['functions'][number]) => ComponentChildren;
}

/** What a server becomes: its functions, what is left out and why, and what to do about it. */
export function ReportView({ report, chosen, actions }: ReportViewProps): JSX.Element {
  const { ok, error, info, version, functions, renamed, omitted, warnings, tokens } = report;
  const title = typeof info?.['title'] === 'string' ? info['title'] : undefined;
  return (
    <div class="stack report">
      {ok ? (
        <p>
          <strong>{title ?? 'This server'}</strong> has {formatCount(functions.length, 'function')}, which cost a model about{' '}
          {formatNumber(tokens)} tokens.
          {version !== null && <span class="soft"> {/^\d/.test(version) ? `OpenAPI ${version}` : version}</span>}
        </p>
      ) : (
        <div class="problem" role="alert">
          <Icon name="alert" />
          <p>{error}</p>
        </div>
      )}
      {warnings.length > 0 && <Remarks title="To know" lines={warnings} isOpen />}
      {functions.length > 0 && (
        <ul class="report-functions">
          {functions.map((fn) => (
            <li key={fn.name}>
              {chosen !== undefined && (
                <input
                  type="checkbox"
                  aria-label={`Offer ${fn.name}`}
                  checked={chosen.isChosen(fn.name)}
                  onChange={(event) => chosen.onChoose(fn.name, event.currentTarget.checked)}
                />
              )}
              <span class="report-words">
                <span class="report-name mono">{fn.name}</span>
                <span class="soft small">{fn.description}</span>
              </span>
              <span class="soft small report-tokens">{formatNumber(fn.tokens)} tokens</span>
              {actions?.(fn)}
            </li>
          ))}
        </ul>
      )}
      {omitted.length > 0 && (
        <Remarks title={`Left out (${omitted.length})`} lines={omitted.map(({ operation, reason }) => `${operation}: ${reason}`)} />
      )}
      {renamed.length > 0 && (
        <Remarks
          title={`Renamed (${renamed.length})`}
          lines={renamed.map(({ from, to, reason }) => `${from} is offered as ${to}: ${reason}`)}
        />
      )}
      {report.stderr !== undefined && report.stderr.length > 0 && <Remarks title="What its process has written" lines={report.stderr} />}
    </div>
  );
}

function Remarks({ title, lines, isOpen = false }: { title: string; lines: readonly string[]; isOpen?: boolean }): JSX.Element {
  return (
    <details open={isOpen}>
      <summary>{title}</summary>
      <ul class="report-remarks small">
        {lines.map((line, index) => (
          <li key={index}>{line}</li>
        ))}
      </ul>
    </details>
  );
}
