import type { LoggedRun } from '../../core/runs/run-log.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { argumentsBox, formatArguments, formatValue } from './call-arguments.ts';
import { html, type Html } from './html.ts';
import type { Page } from './page.ts';

export interface DecidedApproval {
  /** Undefined if the log no longer has the run. */
  run: LoggedRun | undefined;
  answer?: string | undefined;
  /** The secret part of the link to the calls that are waiting now. */
  next?: string | undefined;
}

/** The outcome of the calls that needed approval, from the log of the run. While the run continues, the page reloads every few seconds. */
export function decidedApprovalPage(
  { run, answer, next }: DecidedApproval,
  { mayFollow, seconds }: { mayFollow: boolean; seconds: number },
): Page {
  const { title, message, isActive } = next === undefined ? stateOf(run) : waitingAgain;
  const body = html`<h1>${title}</h1>
    <p role="status">${message}</p>
    ${next !== undefined && mayFollow && html`<p><a class="next" href="./${next}">Show the waiting calls</a></p>`}
    ${run !== undefined && callsOf(run).map(decidedCard)}
    ${
      answer !== undefined &&
      answer !== '' &&
      html`<section aria-labelledby="answer">
        <h2 id="answer">The answer</h2>
        <pre role="group" tabindex="0" aria-labelledby="answer">${answer}</pre>
      </section>`
    }`;
  return { title, body, ...(isActive && { refreshSeconds: seconds }) };
}

const waitingAgain = {
  title: 'Decided',
  message: 'The chat has continued, and other calls now need approval. You can open them only in the browser where you made the decision.',
  isActive: false,
};

function stateOf(run: LoggedRun | undefined): { title: string; message: string; isActive: boolean } {
  const ended = { isActive: false };
  switch (run?.status) {
    case 'running':
    case 'waiting':
      return { title: 'Decided', message: 'The chat continues. The result will appear on this page.', isActive: true };
    case 'completed':
      return {
        title: 'Decided',
        message: 'The chat has continued. If its answer does not appear there, send another message. The model will then know the result.',
        ...ended,
      };
    case 'cancelled':
      return { title: 'Cancelled', message: 'This run was cancelled. Calls that had not started will not run.', ...ended };
    case 'failed':
      return { title: 'Decided, but the answer failed', message: errorIn(run) ?? 'Ask again in the chat.', ...ended };
    case undefined:
      return { title: 'Decided', message: 'These calls were decided. Their results are no longer stored.', ...ended };
  }
}

function errorIn({ events }: LoggedRun): string | undefined {
  const error = events.findLast(({ type }) => type === 'run.end')?.data['error'];
  return isJsonObject(error) ? textIn(error['message']) : undefined;
}

interface LoggedCall {
  tool: string;
  args: JsonValue | undefined;
  decision: JsonObject | undefined;
  result: JsonObject | undefined;
}

/** The calls that needed approval, in order. A later turn may use an id again, which then means the later call. */
function callsOf({ events }: LoggedRun): LoggedCall[] {
  return events.flatMap(({ type, data }, index): LoggedCall[] => {
    if (type !== 'approval.request') return [];
    const later = events.slice(index + 1);
    const next = later.findIndex((event) => event.type === 'approval.request' && event.data['id'] === data['id']);
    const own = (next < 0 ? later : later.slice(0, next)).filter((event) => event.data['id'] === data['id']);
    return [
      {
        tool: textIn(data['tool']) ?? '',
        args: data['args'],
        decision: own.find((event) => event.type === 'approval.response')?.data,
        result: own.find((event) => event.type === 'tool.result')?.data,
      },
    ];
  });
}

function decidedCard({ tool, args, decision, result }: LoggedCall, index: number): Html {
  const number = index + 1;
  const isApproved = decision?.['decision'] === 'approve';
  const verdict = decision === undefined ? 'Not decided' : isApproved ? 'Approved' : 'Rejected';
  const error = isJsonObject(result?.['error']) ? textIn(result['error']['message']) : undefined;
  const outcome = error ?? (result === undefined ? undefined : formatValue(result['response']));
  const state =
    result === undefined ? (isApproved ? ', no result yet' : '') : error === undefined ? ', completed' : isApproved ? ', failed' : '';
  return html`<section class="card" aria-labelledby="call-${number}">
    <h2 id="call-${number}"><code>${tool}</code></h2>
    <p class="state ${isApproved ? 'good' : 'bad'}">${verdict}${state}</p>
    ${argumentsBox(number, formatArguments(args), decision?.['edited'] === true ? 'Original arguments' : 'Arguments')}
    ${
      outcome !== undefined &&
      html`<p id="result-${number}">Result</p>
        <pre role="group" tabindex="0" aria-labelledby="result-${number}">${outcome}</pre>`
    }
  </section>`;
}

function textIn(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
