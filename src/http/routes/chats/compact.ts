import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { ThoughtSeals } from '../../../core/chat/thought.ts';
import { GatewayError, invalidField } from '../../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../../shared/json/json.ts';
import type { AnswerStorage } from '../../dialects/answers/answer-storage.ts';
import { responses } from '../../dialects/responses/responses.ts';
import { toCompaction } from '../../dialects/responses/stored/compactions.ts';
import { itemsIn, outputIn, toStoredItems } from '../../dialects/responses/stored/stored-items.ts';
import type { AnswerClient, AnswerRequest } from './chat.ts';

interface CompactRouteOptions {
  answerRequest: AnswerRequest;
  storage: AnswerStorage;
  clientOf: (request: FastifyRequest, reply: FastifyReply) => AnswerClient;
  seals: ThoughtSeals;
  newId: () => string;
}

const task =
  'Summarize the conversation so far for an assistant that continues it and reads nothing else. Keep facts, names, numbers, identifiers, decisions, ' +
  'results of calls, what the user asked for, and what remains to be done. Write only the summary; do not reply to the conversation.';

/** The fields of a request that are used for the summary. */
const taken = ['model', 'input', 'instructions', 'previous_response_id', 'prompt_cache_key', 'service_tier', 'params'] as const;

/** `POST /v1/responses/compact`: a shorter conversation, for which the model writes a summary. No tool is run. */
export const compactRoute: FastifyPluginAsync<CompactRouteOptions> = async (app, { answerRequest, storage, clientOf, seals, newId }) => {
  app.post('/v1/responses/compact', async (request, reply) => {
    const { caller, headers, id, log } = request;
    const sent = isJsonObject(request.body) ? request.body : {};
    const { body } = await storage.prepare({ ...pick(sent), store: false }, caller);
    const { previous_response_id: previous = null, ...fields } = body as JsonObject;
    if (previous !== null && typeof previous !== 'string') throw invalidField('previous_response_id', 'must be the id of a response');
    const items = itemsIn(fields['input']);
    if (items?.length === 0) throw invalidField('input', 'is missing; it must be the conversation to shorten');
    const input = [...(items ?? []), { type: 'message', role: 'user', content: task }];
    const asked = { body: { ...fields, ...(items && { input }), tool_ids: [], stream: false }, caller, headers, id, log };
    const response = (await answerRequest({ asked, client: clientOf(request, reply), dialect: responses })) as JsonObject;
    const summary = textIn(response);
    if (response['status'] !== 'completed' || summary === '')
      throw new GatewayError(
        'upstream_error',
        'The model wrote no complete summary. Nothing was shortened: send the conversation as it is.',
      );
    const rules = (items ?? []).filter(({ role }) => role === 'system' || role === 'developer');
    const model = typeof fields['model'] === 'string' ? fields['model'] : '';
    return {
      id: `cmp_${newId()}`,
      object: 'response.compaction',
      created_at: response['created_at'],
      output: [...toStoredItems(rules, newId), toCompaction(summary, { id: newId(), caller, model, seals })],
      usage: response['usage'] ?? noUsage,
    };
  });
};

const noUsage = {
  input_tokens: 0,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 0,
};

function pick(body: JsonObject): JsonObject {
  return Object.fromEntries(taken.flatMap((name) => (body[name] === undefined ? [] : [[name, body[name]]])));
}

function textIn(response: JsonObject): string {
  const parts = outputIn(response).flatMap(({ content }) => (Array.isArray(content) ? content.filter(isJsonObject) : []));
  return parts.map(({ type, text }) => (type === 'output_text' && typeof text === 'string' ? text : '')).join('');
}
