import type { FastifyPluginAsync } from 'fastify';
import { z } from 'zod';
import type { ConnectedRuns } from '../../../runs/suspended/connected-runs.ts';
import { createAnswerResumed, type AnswerResumedOptions } from '../../dialects/answers/answer-resumed.ts';
import { parseInput } from '../../parse-input.ts';

interface ResumeRouteOptions extends AnswerResumedOptions {
  connected: Pick<ConnectedRuns, 'take'>;
}

export const resumeSchema = z.object({ token: z.string('must be the token of the run').max(1_000) });

/** `POST /api/runs/{id}/resume`: goes on with a run whose caller had to connect to tool servers. Its answer is the chat's. */
export const resumeRoute: FastifyPluginAsync<ResumeRouteOptions> = async (app, options) => {
  const answerResumed = createAnswerResumed(options);
  app.post<{ Params: { id: string } }>('/api/runs/:id/resume', async (request, reply) => {
    const { caller, params, body } = request;
    const { token } = parseInput(resumeSchema, body, 'an object with the token');
    const { run, decided } = await options.connected.take(params.id, token, caller);
    request.log.info({ run_id: run.id, by: caller.id }, 'run resumed');
    return answerResumed({ request, reply }, run, decided);
  });
};
