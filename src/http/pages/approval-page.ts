import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ApprovalAnswer } from '../../core/user-input/approval.ts';
import type { Caller } from '../../core/callers/caller.ts';
import { limits } from '../../core/limits.ts';
import { conversationOf } from '../../core/runs/run.ts';
import type { LoggedRun } from '../../core/runs/run-log.ts';
import type { DecidedCall, WaitingCall, WaitingRun } from '../../core/runs/suspended-run.ts';
import { isJsonObject } from '../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import { visibleText } from '../../shared/visible-text.ts';
import { html } from './html.ts';
import type { Html } from './html.ts';
import type { Page } from './page.ts';
import { timeOf } from './time-of.ts';

export interface OpenApproval {
  run: WaitingRun;
  answers: ReadonlyMap<string, ApprovalAnswer>;
  caller: Caller;
  /** What was sent and could not be taken. `callId`: absent if it concerns all calls. */
  refused?: { callId: string | undefined; message: string; args?: string; words?: string };
}

/** Arguments with more characters in a form cannot be changed on the page. */
const editableCharacters = limits.smallBodyBytes / 2;
const mostRows = 16;

/** The calls of a suspended run, with a form for each that is not decided yet. */
export async function openApprovalPage({ run, answers, caller, refused }: OpenApproval): Promise<Page> {
  const { calls, expires, model, request, again } = run;
  if (again !== undefined) return failedAnswerPage(again.decided, refused?.message);
  const open = calls.filter(({ id }) => !answers.has(id));
  const title = open.length === 1 ? 'May this call run?' : `May these ${open.length} calls run?`;
  const canRemember = conversationOf(request) !== undefined;
  const showing = { canRemember, refused };
  const body = html`<h1>${title}</h1>
    <p>
      The model <strong>${model}</strong> wants to make ${calls.length === 1 ? 'this call' : 'these calls'}, in a chat of
      ${caller.isOpen ? 'somebody at this machine' : html`<strong>${caller.name ?? caller.id}</strong>`}.
      ${calls.length === 1 ? 'It has not run, and does not run unless you approve it.' : 'None of them has run. The chat goes on once all are decided.'}
    </p>
    <p class="soft">The link of this page is good for one decision on each call, until ${timeOf(expires)}.</p>
    ${refused !== undefined && refused.callId === undefined && problem(refused.message)}
    ${await inTurns(calls, (call, index) => callCard(call, { ...showing, index, answer: answers.get(call.id) }))}
    ${open.length > 1 && allCard(open.length, canRemember)}`;
  return { title, body };
}

/** All calls are decided, and those that were approved have run. Any of the same decisions lets the answer be tried again. */
async function failedAnswerPage(decided: readonly DecidedCall[], message: string | undefined): Promise<Page> {
  const title = 'Decided, but the answer failed';
  const [first] = decided;
  const body = html`<h1>${title}</h1>
    <p>The calls are decided. None of them runs a second time when the answer is tried again.</p>
    ${message !== undefined && problem(message)}
    ${
      first !== undefined &&
      html`<form method="post">
        <input type="hidden" name="call" value="${first.call.id}" />
        <div class="choices"><button type="submit" name="decision" value="${first.answer.decision}">Try again</button></div>
      </form>`
    }
    ${await inTurns(
      decided,
      ({ call: { tool, args }, answer }, index) =>
        html`<section class="card" aria-labelledby="call-${index + 1}">
          <h2 id="call-${index + 1}"><code>${tool}</code></h2>
          ${argumentsShown(index + 1, shownArguments(args))} ${decisionShown(answer)}
        </section>`,
    )}`;
  return { title, body };
}

/** A call in each turn of the event loop: escaping a quarter of a megabyte of arguments takes about ten milliseconds. */
async function inTurns<Call>(calls: readonly Call[], toCard: (call: Call, index: number) => Html): Promise<Html[]> {
  const cards: Html[] = [];
  for (const [index, call] of calls.entries()) {
    if (index > 0) await nextTurn();
    cards.push(toCard(call, index));
  }
  return cards;
}

function decisionShown({ decision }: ApprovalAnswer): Html {
  return html`<p class="state">${decision === 'approve' ? 'Approved' : 'Rejected'}</p>`;
}

interface CallShowing {
  index: number;
  answer: ApprovalAnswer | undefined;
  canRemember: boolean;
  refused: OpenApproval['refused'];
}

function callCard(call: WaitingCall, { index, answer, canRemember, refused }: CallShowing): Html {
  const { id, tool, server, endpoint, address = endpoint, args, within } = call;
  const facts: [name: string, value: Html][] = [
    ...(server === undefined ? [] : [['From', html`${server}`] satisfies [string, Html]]),
    ...(address === undefined ? [] : [['Sends', html`<code>${withoutOrigin(address)}</code>`] satisfies [string, Html]]),
    ...(within === undefined ? [] : [['Within', html`a call of another assistant`] satisfies [string, Html]]),
  ];
  const text = shownArguments(args);
  const refusal = refused?.callId === id ? refused : undefined;
  const isEditable = encodeURIComponent(text).length <= editableCharacters;
  const number = index + 1;
  return html`<section class="card" aria-labelledby="call-${number}">
    <h2 id="call-${number}"><code>${tool}</code></h2>
    ${
      facts.length > 0 &&
      html`<dl>
        ${facts.map(
          ([name, value]) =>
            html`<dt>${name}</dt>
              <dd>${value}</dd>`,
        )}
      </dl>`
    }
    ${refusal !== undefined && problem(refusal.message)}
    ${
      answer === undefined
        ? html`<form method="post">
            ${pressedByEnter}
            <input type="hidden" name="call" value="${id}" />
            ${isEditable ? argumentsField(number, refusal?.args ?? text) : argumentsShown(number, text)}
            ${furtherFields(String(number), { canRemember, words: refusal?.words, about: 'this function' })} ${choices('Approve', 'Reject')}
          </form>`
        : html`${argumentsShown(number, text)} ${decisionShown(answer)}`
    }
  </section>`;
}

/** The Enter key in a field, such as the box to check, presses the first button that is enabled: this one decides nothing. */
const pressedByEnter = html`<button type="submit" class="unseen" name="decision" value="" tabindex="-1" aria-hidden="true"></button>`;

function argumentsField(number: number, text: string): Html {
  const lines = linesOf(text);
  const rows = Math.min(mostRows, lines + 1);
  return html`<label for="arguments-${number}">Arguments, which you may change</label>
    ${foldNote(lines)}
    <textarea id="arguments-${number}" name="arguments" rows="${rows}" spellcheck="false" autocomplete="off">${text}</textarea>`;
}

function argumentsShown(number: number, text: string): Html {
  return html`<p id="shown-${number}">Arguments</p>
    ${foldNote(linesOf(text))}
    <pre role="group" tabindex="0" aria-labelledby="shown-${number}">${text}</pre>`;
}

/** Where a long line is broken in a wide window. In a narrow one there are more lines, so the page never names too many. */
const widestColumns = 76;

function linesOf(text: string): number {
  return text.split('\n').reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / widestColumns)), 0);
}

/** Says how much of a box is seen only after scrolling: what matters may be there. */
function foldNote(lines: number): Html | false {
  return (
    lines > mostRows && html`<p class="soft">${lines} lines, of which ${lines - mostRows} are below the fold: scroll to read them all.</p>`
  );
}

function furtherFields(
  name: string,
  { canRemember, words, about }: { canRemember: boolean; words?: string | undefined; about: string },
): Html {
  return html`<label for="message-${name}">Message for the model, if you reject</label>
    <textarea id="message-${name}" name="message" rows="2" maxlength="${limits.approvalMessageCharacters}">${words}</textarea>
    ${
      canRemember &&
      html`<label class="check"
        ><input type="checkbox" name="remember" value="true" /><span
          >Decide the same for ${about} in the rest of this chat, for a day at most</span
        ></label
      >`
    }`;
}

function choices(approve: string, reject: string): Html {
  return html`<div class="choices">
    <button type="submit" name="decision" value="approve">${approve}</button>
    <button type="submit" name="decision" value="reject">${reject}</button>
  </div>`;
}

function allCard(count: number, canRemember: boolean): Html {
  return html`<section class="card" aria-labelledby="all">
    <h2 id="all">All ${count} calls, with the arguments of the model</h2>
    <form method="post">
      ${pressedByEnter} ${furtherFields('all', { canRemember, about: 'these functions' })} ${choices('Approve all', 'Reject all')}
    </form>
  </section>`;
}

function problem(message: string): Html {
  return html`<p class="problem" role="alert">${message}</p>`;
}

interface DecidedApproval {
  /** Undefined if it is no longer in the log. */
  run: LoggedRun | undefined;
  answer?: string | undefined;
  /** The secret part of the link to calls that wait now. */
  next?: string | undefined;
}

/** What came of the calls that a run has asked about, as its log says. While the run goes on, the page is loaded again every few seconds. */
export function decidedApprovalPage(
  { run, answer, next }: DecidedApproval,
  { mayFollow, seconds }: { mayFollow: boolean; seconds: number },
): Page {
  const { title, message, isGoingOn } = next === undefined ? stateOf(run) : waitsAgain;
  const body = html`<h1>${title}</h1>
    <p role="status">${message}</p>
    ${next !== undefined && mayFollow && html`<p><a class="next" href="./${next}">Show what waits now</a></p>`}
    ${run !== undefined && callsOf(run).map(decidedCard)}
    ${
      answer !== undefined &&
      answer !== '' &&
      html`<section aria-labelledby="answer">
        <h2 id="answer">The answer</h2>
        <pre role="group" tabindex="0" aria-labelledby="answer">${answer}</pre>
      </section>`
    }`;
  return { title, body, ...(isGoingOn && { refreshSeconds: seconds }) };
}

const waitsAgain = {
  title: 'Decided',
  message: 'The chat has gone on, and now other calls of it wait for a decision. Whoever decided here can see them.',
  isGoingOn: false,
};

function stateOf(run: LoggedRun | undefined): { title: string; message: string; isGoingOn: boolean } {
  const ended = { isGoingOn: false };
  switch (run?.status) {
    case 'running':
    case 'waiting':
      return { title: 'Decided', message: 'The chat goes on. This page will show the result by itself.', isGoingOn: true };
    case 'completed':
      return {
        title: 'Decided',
        message: 'The chat has gone on. If its answer does not appear there, send another message: the model then knows what came of it.',
        ...ended,
      };
    case 'cancelled':
      return { title: 'Cancelled', message: 'This run was cancelled. Calls that had not run by then will not run.', ...ended };
    case 'failed':
      return { title: 'Decided, but the answer failed', message: errorIn(run) ?? 'Ask again in the chat.', ...ended };
    case undefined:
      return { title: 'Decided', message: 'These calls were decided. Their results are no longer kept.', ...ended };
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

/** The calls that needed an approval, in their order. Ids may come again in a later turn, and then mean the later call. */
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
  const said = decision === undefined ? 'Not decided' : isApproved ? 'Approved' : 'Rejected';
  const error = isJsonObject(result?.['error']) ? textIn(result['error']['message']) : undefined;
  const outcome = error ?? (result === undefined ? undefined : shownValue(result['response']));
  const state =
    result === undefined ? (isApproved ? ', no result yet' : '') : error === undefined ? ', has run' : isApproved ? ', has failed' : '';
  return html`<section class="card" aria-labelledby="call-${number}">
    <h2 id="call-${number}"><code>${tool}</code></h2>
    <p class="state ${isApproved ? 'good' : 'bad'}">${said}${state}</p>
    <p id="shown-${number}">Arguments${decision?.['edited'] === true && ', before they were changed'}</p>
    <pre role="group" tabindex="0" aria-labelledby="shown-${number}">${shownArguments(args)}</pre>
    ${
      outcome !== undefined &&
      html`<p id="result-${number}">Result</p>
        <pre role="group" tabindex="0" aria-labelledby="result-${number}">${outcome}</pre>`
    }
  </section>`;
}

/** JSON of the same value, in which nothing hides. */
function shownArguments(args: JsonValue | undefined): string {
  return visibleText(shownValue(args));
}

function shownValue(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null, null, 2);
}

function textIn(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The origin of a tool server is its administrators' business. */
function withoutOrigin(address: string): string {
  const [method = '', url = ''] = address.split(' ', 2);
  const parsed = URL.parse(url);
  return parsed === null ? address : `${method} ${parsed.pathname}${parsed.search}`;
}
