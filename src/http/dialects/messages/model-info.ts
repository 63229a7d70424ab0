import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import type { ModelRecord } from '../../../core/models/model.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import { parseInput } from '../../parse-input.ts';

/** Whether a request means Anthropic's API where OpenAI's has the same path: their clients always name its version. */
export function isForAnthropic(headers: IncomingHttpHeaders): boolean {
  return headers['anthropic-version'] !== undefined;
}

/** A model of the list in Anthropic's format. */
export const pageQuery = z.object({
  limit: z.coerce.number().int().min(1).max(1_000).default(1_000),
  after_id: z.string().max(256).optional(),
  before_id: z.string().max(256).optional(),
});

/** One page of the models, after or before one of them. @throws GatewayError `invalid_request` */
export function toModelPage(records: readonly ModelRecord[], query: unknown): JsonObject {
  const { limit, after_id: after, before_id: before } = parseInput(pageQuery, query);
  const ids = records.map(({ id }) => id);
  const end = before === undefined ? ids.length : Math.max(0, ids.indexOf(before));
  const start = before === undefined ? (after === undefined ? 0 : ids.indexOf(after) + 1) : Math.max(0, end - limit);
  const page = records.slice(start, Math.min(end, start + limit));
  const hasMore = before === undefined ? start + page.length < records.length : start > 0;
  return { data: page.map(toModelInfo), has_more: hasMore, first_id: page[0]?.id ?? null, last_id: page.at(-1)?.id ?? null };
}

/** Where backends say how long the context of a model is. */
const contextFields = ['context_length', 'max_model_len', 'n_ctx'];

/** A model in Anthropic's shape. */
export function toModelInfo({ id, created, details }: ModelRecord): JsonObject {
  const { name } = details;
  const context = contextFields.map((field) => details[field]).find((value) => typeof value === 'number');
  return {
    type: 'model',
    id,
    display_name: typeof name === 'string' ? name : id,
    created_at: new Date(created * 1000).toISOString(),
    max_input_tokens: context ?? null,
    max_tokens: null,
    capabilities: null,
    deprecated_at: null,
    lifecycle: 'active',
    line: null,
    retires_at: null,
  };
}
