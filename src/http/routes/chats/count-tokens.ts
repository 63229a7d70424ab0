import type { FastifyPluginAsync } from 'fastify';
import { requireModel } from '../../../core/callers/require-model.ts';
import type { ModelFinder } from '../../../core/models/model.ts';
import { disconnectSignal } from '../../disconnect-signal.ts';
import { countTokens } from '../../dialects/messages/read-counted-request.ts';
import { messagesErrors } from '../../dialects/messages/messages-errors.ts';

/** `POST /v1/messages/count_tokens`. No backend is asked, because most of them cannot count. */
export const countTokensRoute: FastifyPluginAsync<{ models: Pick<ModelFinder, 'require'> }> = async (app, { models }) => {
  app.post('/v1/messages/count_tokens', { config: { errors: messagesErrors } }, async (request, reply) => {
    reply.headers(messagesErrors.headers?.(request) ?? {});
    const { model, tokens } = countTokens(request.body);
    requireModel(request.caller, model);
    await models.require(model, disconnectSignal(reply), request.caller);
    return { input_tokens: tokens };
  });
};
