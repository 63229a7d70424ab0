import type { FastifyPluginCallback, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApprovalAnswer } from '../../core/approval.ts';
import type { Caller } from '../../core/caller.ts';
import { describeSchemaIssue } from '../../shared/describe-schema-issue.ts';
import { GatewayError } from '../../core/errors.ts';
import { isDeeperThan, isJsonObject } from '../../shared/json.ts';
import type { JsonObject } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';
import { createAnswerRun } from '../dialects/chat-completions/answer-run.ts';
import type { AnswerOptions } from '../dialects/chat-completions/answer-run.ts';
import type { ApprovalDecisions, GivenDecision } from '../../runs/approval-decisions.ts';
import type { ActiveRuns } from '../../runs/active-runs.ts';

export interface ApprovalRouteOptions extends AnswerOptions {
  desk: Pick<ApprovalDecisions, 'decide'>;
  runs: Pick<ActiveRuns, 'resume'>;
  callerOf(request: FastifyRequest): Caller;
}

/**
 * `POST /api/runs/{id}/approvals/{call_id}`: a decision on a call that waits. 202 `{"waiting": [ids]}` while others are open; the last one is
 * answered as the chat would have been.
 */
export const approvalRoutes: FastifyPluginCallback<ApprovalRouteOptions> = (app, options, done) => {
  const answerRun = createAnswerRun(options);
  app.post<{ Params: { id: string; call_id: string } }>('/api/runs/:id/approvals/:call_id', async (request, reply) => {
    const caller = options.callerOf(request);
    const { id: runId, call_id: callId } = request.params;
    const given = parseDecision(request.body);
    const decision = await options.desk.decide({ runId, callId }, given, caller);
    request.log.info({ run_id: runId, call_id: callId, decision: given.answer.decision, by: caller.id }, 'call decided');
    if (decision.type === 'noted') return reply.code(202).send({ waiting: decision.waiting });
    const leave = new AbortController();
    const { run, decided } = decision;
    const started = await options.runs.resume(run, decided, { caller, leave });
    const { includeUsage = false, includeEvents = false } = run.request.reply ?? {};
    return answerRun({ request, reply, leave }, started, { model: run.model, stream: run.request.stream, includeUsage, includeEvents });
  });
  done();
};

const jsonObject = z.custom<JsonObject>(
  (value) => isJsonObject(value) && !isDeeperThan(value, limits.jsonDepth),
  `must be an object, nested at most ${limits.jsonDepth} levels deep`,
);
const body = z.object({
  decision: z.enum(['approve', 'reject'], 'must be "approve" or "reject"'),
  token: z.string('must be the token of the call').max(1_000),
  arguments: jsonObject.nullish(),
  // As a decision over a socket calls them: whoever has changed them must not have the unchanged ones run.
  params: jsonObject.nullish(),
  message: z.string().max(limits.approvalMessageCharacters).nullish(),
  remember: z.boolean().nullish(),
});

/** @throws GatewayError `invalid_request` */
function parseDecision(value: unknown): GivenDecision {
  const parsed = body.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const param = issue?.path.join('.') ?? '';
    throw new GatewayError(
      'invalid_request',
      param === '' ? 'The body must be an object with decision and token.' : `${param}: ${describeSchemaIssue(issue)}`,
      {
        param,
      },
    );
  }
  const { decision, token, params, message, remember } = parsed.data;
  const args = parsed.data.arguments ?? params;
  const answer: ApprovalAnswer = decision === 'approve' ? { decision, ...(args && { args }) } : { decision, ...(message && { message }) };
  return { token, answer, isRemembered: remember === true };
}
