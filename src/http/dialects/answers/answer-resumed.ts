import type { FastifyReply, FastifyRequest } from 'fastify';
import type { DecidedCall, WaitingRun } from '../../../core/runs/suspended-run.ts';
import type { ActiveRuns } from '../../../runs/active-runs.ts';
import { readRequestHeader } from '../../auth/read-request-header.ts';
import { createAnswerRun, type AnswerOptions } from './answer-run.ts';
import type { DecidedRuns } from './decided-runs.ts';
import { storedReply } from '../dialects.ts';

export interface AnswerResumedOptions extends AnswerOptions {
  runs: Pick<ActiveRuns, 'resume'>;
  decidedRuns: Pick<DecidedRuns, 'resume'>;
}

/** Answers with a resumed run as its chat would have been answered: in its dialect, streamed or not. */
type AnswerResumed = (
  exchange: { request: FastifyRequest; reply: FastifyReply },
  run: WaitingRun,
  decided: readonly DecidedCall[],
) => Promise<unknown>;

export function createAnswerResumed(options: AnswerResumedOptions): AnswerResumed {
  const answerRun = createAnswerRun(options);
  return async ({ request, reply }, run, decided) => {
    const controller = new AbortController();
    const { dialect, options: formatOptions } = storedReply(run.request.reply);
    const runs = dialect.showsCalls === true ? options.decidedRuns : options.runs;
    const started = await runs.resume(run, decided, { caller: request.caller, controller, readHeader: readRequestHeader(request) });
    const format = dialect.format(formatOptions, request.headers);
    return answerRun({ request, reply, controller }, started, { model: run.model, stream: run.request.stream, format });
  };
}
