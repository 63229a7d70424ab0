import type { FastifyPluginAsync } from 'fastify';
import { z } from 'zod';
import type { ApprovalAnswer } from '../../../core/user-input/approval.ts';
import { isDeeperThan, isJsonObject, type JsonObject } from '../../../shared/json/json.ts';
import { parseInput } from '../../parse-input.ts';
import { limits } from '../../../core/limits.ts';
import { createAnswerResumed, type AnswerResumedOptions } from '../../dialects/answers/answer-resumed.ts';
import type { ApprovalDecisions, SubmittedDecision } from '../../../runs/suspended/approval-decisions.ts';

interface ApprovalRouteOptions extends AnswerResumedOptions {
  decisions: Pick<ApprovalDecisions, 'decide'>;
}

/**
 * `POST /api/runs/{id}/approvals/{call_id}`: a decision on a waiting call. Answers 202 `{"waiting": [ids]}` while other calls of the run wait;
 * the last decision resumes the run, and its answer is the chat's.
 */
export const approvalRoutes: FastifyPluginAsync<ApprovalRouteOptions> = async (app, options) => {
  const answerResumed = createAnswerResumed(options);
  app.post<{ Params: { id: string; call_id: string } }>('/api/runs/:id/approvals/:call_id', async (request, reply) => {
    const { caller, params } = request;
    const { id: runId, call_id: callId } = params;
    const submitted = parseDecision(request.body);
    const decision = await options.decisions.decide({ runId, callId }, submitted, caller);
    request.log.info({ run_id: runId, call_id: callId, decision: submitted.answer.decision, by: caller.id }, 'call decided');
    if (decision.type === 'recorded') return reply.code(202).send({ waiting: decision.waiting });
    return answerResumed({ request, reply }, decision.run, decision.decided);
  });
};

const jsonObject = z.custom<JsonObject>(
  (value) => isJsonObject(value) && !isDeeperThan(value, limits.jsonDepth),
  `must be an object, nested at most ${limits.jsonDepth} levels deep`,
);
/** An unknown field is refused: it may hold the edited arguments, and without it the call would run with the model's. */
export const decisionSchema = z.strictObject({
  decision: z.enum(['approve', 'reject'], 'must be "approve" or "reject"'),
  token: z.string('must be the token of the call').max(1_000),
  arguments: jsonObject.nullish(),
  // The socket protocol's name for `arguments`.
  params: jsonObject.nullish(),
  message: z.string().max(limits.approvalMessageCharacters).nullish(),
  remember: z.boolean().nullish(),
});

/** @throws GatewayError `invalid_request` */
function parseDecision(value: unknown): SubmittedDecision {
  const {
    decision,
    token,
    arguments: edited,
    params,
    message,
    remember,
  } = parseInput(decisionSchema, value, 'an object with decision and token');
  const args = edited ?? params;
  const answer: ApprovalAnswer = decision === 'approve' ? { decision, ...(args && { args }) } : { decision, ...(message && { message }) };
  return { proof: token, answer, isRemembered: remember === true };
}
