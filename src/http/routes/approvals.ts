import type { FastifyPluginAsync } from 'fastify';
import { z } from 'zod';
import type { ApprovalAnswer } from '../../core/approval.ts';
import { isDeeperThan, isJsonObject } from '../../shared/json.ts';
import type { JsonObject } from '../../shared/json.ts';
import { parseInput } from '../parse-input.ts';
import { limits } from '../../core/limits.ts';
import { createAnswerRun } from '../dialects/answer-run.ts';
import type { AnswerOptions } from '../dialects/answer-run.ts';
import { chatCompletionFormat } from '../dialects/chat-completions/openai-wire.ts';
import type { ApprovalDecisions, GivenDecision } from '../../runs/approval-decisions.ts';
import type { ActiveRuns } from '../../runs/active-runs.ts';

export interface ApprovalRouteOptions extends AnswerOptions {
  decisions: Pick<ApprovalDecisions, 'decide'>;
  runs: Pick<ActiveRuns, 'resume'>;
}

/**
 * `POST /api/runs/{id}/approvals/{call_id}`: a decision on a call that waits. 202 `{"waiting": [ids]}` while others are open; the last one is
 * answered as the chat would have been.
 */
export const approvalRoutes: FastifyPluginAsync<ApprovalRouteOptions> = async (app, options) => {
  const answerRun = createAnswerRun(options);
  app.post<{ Params: { id: string; call_id: string } }>('/api/runs/:id/approvals/:call_id', async (request, reply) => {
    const { caller, params } = request;
    const { id: runId, call_id: callId } = params;
    const given = parseDecision(request.body);
    const decision = await options.decisions.decide({ runId, callId }, given, caller);
    request.log.info({ run_id: runId, call_id: callId, decision: given.answer.decision, by: caller.id }, 'call decided');
    if (decision.type === 'noted') return reply.code(202).send({ waiting: decision.waiting });
    const leave = new AbortController();
    const { run, decided } = decision;
    const started = await options.runs.resume(run, decided, { caller, leave });
    const form = run.request.reply ?? { includeUsage: false, includeEvents: false };
    const format = chatCompletionFormat(form, request.headers);
    return answerRun({ request, reply, leave }, started, { model: run.model, stream: run.request.stream, format });
  });
};

const jsonObject = z.custom<JsonObject>(
  (value) => isJsonObject(value) && !isDeeperThan(value, limits.jsonDepth),
  `must be an object, nested at most ${limits.jsonDepth} levels deep`,
);
const body = z.object({
  decision: z.enum(['approve', 'reject'], 'must be "approve" or "reject"'),
  token: z.string('must be the token of the call').max(1_000),
  arguments: jsonObject.nullish(),
  // The name that decisions over a socket use. Ignored here, it would run the call with the arguments that the user has changed.
  params: jsonObject.nullish(),
  message: z.string().max(limits.approvalMessageCharacters).nullish(),
  remember: z.boolean().nullish(),
});

/** @throws GatewayError `invalid_request` */
function parseDecision(value: unknown): GivenDecision {
  const { decision, token, arguments: edited, params, message, remember } = parseInput(body, value, 'an object with decision and token');
  const args = edited ?? params;
  const answer: ApprovalAnswer = decision === 'approve' ? { decision, ...(args && { args }) } : { decision, ...(message && { message }) };
  return { token, answer, isRemembered: remember === true };
}
