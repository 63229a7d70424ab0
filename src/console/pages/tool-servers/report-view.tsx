import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { formatCount, formatNumber } from '../../parts/text/formats.ts';
import { Icon } from '../../parts/icon.tsx';
import { VisibleText } from '../../parts/text/visible-text.tsx';
import { FunctionList } from './function-list.tsx';
import type { Choosing } from './function-list.tsx';
import type { Report } from './discover-server.ts';

interface ReportViewProps {
  report: Report;
  choosing?: Choosing;
  /** Shown at the end of each function's line. */
  actions?: (fn: Report['functions'][number]) => ComponentChildren;
  /** Replaces the error of the report. */
  problem?: ComponentChildren;
}

/** The functions of a server, what was excluded and why, and warnings. */
export function ReportView({ report, choosing, actions, problem }: ReportViewProps): JSX.Element {
  const { ok, error, info, version, functions, renamed, omitted, warnings, tokens, stderr = [] } = report;
  const title = typeof info?.['title'] === 'string' ? info['title'] : undefined;
  const names = new Map(renamed.map(({ from, to, reason }) => [to, { from, reason }]));
  return (
    <div class="stack report">
      {ok ? (
        <p>
          <strong>
            <VisibleText text={title ?? 'This server'} />
          </strong>{' '}
          {functions.length === 0
            ? 'has no functions.'
            : `has ${formatCount(functions.length, 'function')} (about ${formatNumber(tokens)} tokens per request).`}
          {version !== null && <span class="soft"> {/^\d/.test(version) ? `OpenAPI ${version}` : version}</span>}
        </p>
      ) : (
        (problem ?? (
          <div class="problem" role="alert">
            <Icon name="alert" />
            <p>
              <VisibleText text={error ?? 'The server does not work.'} />
            </p>
          </div>
        ))
      )}
      <Notes title="Warnings" lines={warnings} isOpen />
      {functions.length > 0 && <FunctionList functions={functions} renamed={names} choosing={choosing} actions={actions} />}
      <Notes title="Excluded" lines={omitted.map(({ operation, reason }) => `${operation}: ${reason}`)} />
      <Notes title="Renamed" lines={renamed.map(({ from, to, reason }) => `${from} is now ${to}: ${reason}`)} />
      <Notes title="Output of its process (stderr)" lines={stderr} />
    </div>
  );
}

const shownLines = 50;

function Notes({ title, lines, isOpen = false }: { title: string; lines: readonly string[]; isOpen?: boolean }): JSX.Element | null {
  const [shown, setShown] = useState(shownLines);
  if (lines.length === 0) return null;
  return (
    <details open={isOpen} class="report-remarks">
      <summary>{isOpen ? title : `${title} (${formatNumber(lines.length)})`}</summary>
      <ul class="small">
        {lines.slice(0, shown).map((line, index) => (
          <li key={index}>
            <VisibleText text={line} />
          </li>
        ))}
      </ul>
      {lines.length > shown && (
        <button type="button" class="more" onClick={() => setShown(shown * 10)}>
          {formatNumber(lines.length - shown)} more
        </button>
      )}
    </details>
  );
}
