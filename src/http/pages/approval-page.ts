import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ApprovalAnswer } from '../../core/user-input/approval.ts';
import type { Caller } from '../../core/callers/caller.ts';
import { limits } from '../../core/limits.ts';
import { conversationOf } from '../../core/runs/run.ts';
import type { DecidedCall, WaitingCall, WaitingRun } from '../../core/runs/suspended-run.ts';
import { shownEndpoint } from '../../shared/text/shown-endpoint.ts';
import { argumentsBox, argumentsField, formatArguments } from './call-arguments.ts';
import { html, type Html } from './html.ts';
import type { Page } from './page.ts';
import { timeOf } from './time-of.ts';

export interface OpenApproval {
  run: WaitingRun;
  answers: ReadonlyMap<string, ApprovalAnswer>;
  caller: Caller;
  /** The decision that could not be accepted. `callId`: absent if it concerned all calls. */
  refused?: { callId: string | undefined; message: string; args?: string; reply?: string };
}

/** Longer arguments cannot be edited on the page. */
const editableCharacters = limits.smallBodyBytes / 2;

/** The calls of a suspended run, with a form for each pending one. */
export async function openApprovalPage({ run, answers, caller, refused }: OpenApproval): Promise<Page> {
  const { calls, expires, model, request, again } = run;
  if (again !== undefined) return failedAnswerPage(again.decided, refused?.message);
  const open = calls.filter(({ id }) => !answers.has(id));
  const title = open.length === 1 ? 'Approve this call?' : `Approve these ${open.length} calls?`;
  const canRemember = conversationOf(request) !== undefined;
  const showing = { canRemember, refused };
  const body = html`<h1>${title}</h1>
    <p>
      The model <strong>${model}</strong> wants to run ${calls.length === 1 ? 'this call' : 'these calls'} in a chat of
      ${caller.isOpen ? 'someone on this machine' : html`<strong>${caller.name ?? caller.id}</strong>`}.
      ${calls.length === 1 ? 'It will run only if you approve it.' : 'None of them has run yet. The chat continues when all are decided.'}
    </p>
    <p class="soft">This link accepts one decision per call and expires on ${timeOf(expires)}.</p>
    ${refused !== undefined && refused.callId === undefined && problem(refused.message)}
    ${await inTicks(calls, (call, index) => callCard(call, { ...showing, index, answer: answers.get(call.id) }))}
    ${open.length > 1 && allCard(open.length, canRemember)}`;
  return { title, body };
}

/** All calls are decided, and the approved ones have run. Repeating any of the decisions retries the answer. */
async function failedAnswerPage(decided: readonly DecidedCall[], message: string | undefined): Promise<Page> {
  const title = 'Decided, but the answer failed';
  const [first] = decided;
  const body = html`<h1>${title}</h1>
    <p>The calls are decided. Trying again does not run them a second time.</p>
    ${message !== undefined && problem(message)}
    ${
      first !== undefined &&
      html`<form method="post">
        <input type="hidden" name="call" value="${first.call.id}" />
        <div class="choices"><button type="submit" name="decision" value="${first.answer.decision}">Try again</button></div>
      </form>`
    }
    ${await inTicks(
      decided,
      ({ call: { tool, args }, answer }, index) =>
        html`<section class="card" aria-labelledby="call-${index + 1}">
          <h2 id="call-${index + 1}"><code>${tool}</code></h2>
          ${argumentsBox(index + 1, formatArguments(args))} ${decisionOf(answer)}
        </section>`,
    )}`;
  return { title, body };
}

/** One call per tick of the event loop, because escaping 250 kB of arguments takes about ten milliseconds. */
async function inTicks<Call>(calls: readonly Call[], toCard: (call: Call, index: number) => Html): Promise<Html[]> {
  const cards: Html[] = [];
  for (const [index, call] of calls.entries()) {
    if (index > 0) await nextTurn();
    cards.push(toCard(call, index));
  }
  return cards;
}

function decisionOf({ decision }: ApprovalAnswer): Html {
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
    ...(server === undefined ? [] : [['Server', html`${server}`] satisfies [string, Html]]),
    ...(address === undefined ? [] : [['Request', html`<code>${shownEndpoint(address)}</code>`] satisfies [string, Html]]),
    ...(within === undefined ? [] : [['Called by', html`another preset`] satisfies [string, Html]]),
  ];
  const text = formatArguments(args);
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
            ${isEditable ? argumentsField(number, refusal?.args ?? text) : argumentsBox(number, text)}
            ${replyFields(String(number), { canRemember, reply: refusal?.reply, subject: 'this function' })} ${choices('Approve', 'Reject')}
          </form>`
        : html`${argumentsBox(number, text)} ${decisionOf(answer)}`
    }
  </section>`;
}

/** Enter in a field, such as the checkbox, presses the first enabled button. This one decides nothing. */
const pressedByEnter = html`<button type="submit" class="unseen" name="decision" value="" tabindex="-1" aria-hidden="true"></button>`;

function replyFields(
  name: string,
  { canRemember, reply, subject }: { canRemember: boolean; reply?: string | undefined; subject: string },
): Html {
  return html`<label for="message-${name}">Message to the model if you reject</label>
    <textarea id="message-${name}" name="message" rows="2" maxlength="${limits.approvalMessageCharacters}">${reply}</textarea>
    ${
      canRemember &&
      html`<label class="check"
        ><input type="checkbox" name="remember" value="true" /><span
          >Remember this decision for ${subject} in this chat, for up to 24 hours</span
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
    <h2 id="all">All ${count} calls, with their original arguments</h2>
    <form method="post">
      ${pressedByEnter} ${replyFields('all', { canRemember, subject: 'these functions' })} ${choices('Approve all', 'Reject all')}
    </form>
  </section>`;
}

function problem(message: string): Html {
  return html`<p class="problem" role="alert">${message}</p>`;
}
