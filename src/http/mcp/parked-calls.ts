import {
  inputRequired,
  isSpecType,
  type CallToolResult,
  type ClientCapabilities,
  type ElicitRequestFormParams,
  type ElicitRequestURLParams,
  type ElicitResult,
  type InputRequest,
  type InputRequiredResult,
} from '@modelcontextprotocol/server';
import type { AskClient, ElicitationReply, ElicitationRequest } from '../../core/user-input/elicitation.ts';
import type { RunEvent } from '../../core/chat/run-event.ts';
import { toElicitation, toReply } from './elicitation-form.ts';
import { createOwnedEntries } from './owned-entries.ts';

/** Calls of one caller that wait for an answer in another request. */
const mcpParkedCallsPerCaller = 16;
const mcpParkedCalls = 1_000;

/**
 * Calls of clients that answer questions in another request (`input_required`, protocol versions from 2026 on): while nobody waits for it, a call
 * pauses in its question, so that none of its work is done twice.
 */
export interface ParkedCalls {
  /** Runs a call until it ends or asks. */
  start(call: CallToPark, reader: CallReader): Promise<CallToolResult | InputRequiredResult>;
  /** Resumes the call that was parked with this state; undefined if the caller has none, or has resumed it before. */
  resume(
    state: string,
    call: Pick<CallToPark, 'owner' | 'name'>,
    next: { answers: Answers; reader: CallReader },
  ): Promise<CallToolResult | InputRequiredResult> | undefined;
}

export interface CallToPark {
  owner: string;
  /** The function, which a client names again when it answers. */
  name: string;
  /** The signal of its client. */
  capabilities: ClientCapabilities | undefined;
  run: (scope: { signal: AbortSignal; emit: (event: RunEvent) => Promise<void>; askClient: AskClient }) => Promise<CallToolResult>;
}

/** A request that waits for a call. */
export interface CallReader {
  signal: AbortSignal;
  emit: (event: RunEvent) => Promise<void>;
}

/** By the key of the question. */
export type Answers = Readonly<Record<string, unknown>>;

interface Question {
  request: ElicitationRequest;
  asked: ElicitRequestFormParams | ElicitRequestURLParams;
  settle(reply: ElicitationReply): void;
}

interface OngoingCall {
  owner: string;
  name: string;
  capabilities: ClientCapabilities | undefined;
  controller: AbortController;
  outcome: Promise<CallToolResult>;
  questions: Map<string, Question>;
  /** How many it has asked in all. */
  askedCount: number;
  /** Undefined while it is parked. */
  reader: CallReader | undefined;
  /** Resolves when the next question is there. */
  asked: PromiseWithResolvers<void>;
}

/** `draining`: aborted when no more answers are waited for. */
export function createParkedCalls({ newId, draining }: { newId: () => string; draining: AbortSignal }): ParkedCalls {
  const parked = createOwnedEntries<OngoingCall>({
    perOwner: mcpParkedCallsPerCaller,
    total: mcpParkedCalls,
    end: ({ controller }) => controller.abort(new Error('Nobody has answered the questions of this call.')),
  });
  draining.addEventListener('abort', () => parked.endWhere(() => true), { once: true });

  function begin({ owner, name, capabilities, run }: CallToPark): OngoingCall {
    const controller = new AbortController();
    const questions = new Map<string, Question>();
    const call: Omit<OngoingCall, 'outcome'> = {
      owner,
      name,
      capabilities,
      controller,
      questions,
      askedCount: 0,
      reader: undefined,
      asked: Promise.withResolvers(),
    };
    const outcome = Promise.resolve().then(() =>
      run({
        signal: controller.signal,
        emit: async (event) => call.reader?.emit(event),
        askClient: (request, options) => ask(call, request, options),
      }),
    );
    // It may fail while no request waits for it.
    outcome.catch(() => undefined);
    return Object.assign(call, { outcome });
  }

  async function follow(call: OngoingCall, reader: CallReader): Promise<CallToolResult | InputRequiredResult> {
    const leave = (): void => call.controller.abort(reader.signal.reason);
    call.reader = reader;
    if (reader.signal.aborted) leave();
    reader.signal.addEventListener('abort', leave, { once: true });
    try {
      const result = await Promise.race([call.outcome, untilAsked(call)]);
      if (result !== undefined) return result;
    } finally {
      reader.signal.removeEventListener('abort', leave);
      call.reader = undefined;
    }
    const requestState = newId();
    parked.add(requestState, call.owner, call);
    if (draining.aborted) call.controller.abort(draining.reason);
    const forget = (): void => parked.delete(requestState);
    call.outcome.then(forget, forget);
    const inputRequests = Object.fromEntries(Array.from(call.questions, ([key, { asked }]) => [key, toInputRequest(asked)]));
    return inputRequired({ inputRequests, requestState });
  }

  return {
    start: (call, reader) => follow(begin(call), reader),
    resume(state, { owner, name }, { answers, reader }) {
      const call = parked.find(state, owner);
      if (call === undefined || call.name !== name) return undefined;
      parked.delete(state);
      for (const [key, question] of call.questions) {
        const answer = answers[key];
        if (!isSpecType.ElicitResult(answer)) continue;
        call.questions.delete(key);
        question.settle(toReply(question.request, answer as ElicitResult));
      }
      return follow(call, reader);
    },
  };
}

async function ask(
  call: Omit<OngoingCall, 'outcome'>,
  request: ElicitationRequest,
  { signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number },
): Promise<ElicitationReply> {
  const asked = toElicitation(request, call.capabilities);
  if (asked === undefined) return { type: 'unavailable' };
  const { promise, resolve: settle, reject } = Promise.withResolvers<ElicitationReply>();
  call.askedCount += 1;
  const key = `question-${call.askedCount}`;
  const leave = (): void => reject(signal.reason as Error);
  const timer = setTimeout(() => {
    settle({ type: 'expired' });
    // Its answer would reach no client.
    if (call.reader === undefined) call.controller.abort(new Error('Nobody has answered the questions of this call in time.'));
  }, timeoutMs);
  signal.addEventListener('abort', leave, { once: true });
  if (signal.aborted) leave();
  call.questions.set(key, { request, asked, settle });
  call.asked.resolve();
  call.asked = Promise.withResolvers();
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', leave);
    call.questions.delete(key);
  }
}

function toInputRequest(asked: Question['asked']): InputRequest {
  return asked.mode === 'url' ? inputRequired.elicitUrl({ message: asked.message, url: asked.url }) : inputRequired.elicit(asked);
}

async function untilAsked(call: OngoingCall): Promise<undefined> {
  while (call.questions.size === 0) await call.asked.promise;
}
