import { z } from 'zod';
import type { ChatPage } from '../../core/chat-store.ts';
import { describeSchemaIssue } from '../../shared/describe-schema-issue.ts';
import { GatewayError } from '../../core/errors.ts';
import { isJsonObject } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';
import { parseMetadata } from '../dialects/chat-completions/stored-completion.ts';

/** As OpenAI's lists. */
const defaultLimit = 20;

const pageSchema = z.object({
  limit: z.coerce.number('must be a number').int().min(1).max(limits.chatsPerPage).default(defaultLimit),
  order: z.enum(['asc', 'desc'], 'must be asc or desc').default('asc'),
  after: z.string().max(256).optional(),
  model: z.string().max(256).optional(),
});

export interface MessageQuery {
  limit: number;
  order: 'asc' | 'desc';
  /** The id of the last entry of the page before. */
  after: string | undefined;
}

/** `limit`, `order` and `after`. @throws GatewayError `invalid_request` */
export function parseMessageQuery(value: unknown): MessageQuery {
  const { limit, order, after } = parsePage(value);
  return { limit, order, after };
}

/** The same with `model`, and `metadata[key]=value` for each entry that has to be there. @throws GatewayError `invalid_request` */
export function parseChatQuery(value: unknown): MessageQuery & Pick<ChatPage, 'model' | 'metadata'> {
  const { limit, order, after, model } = parsePage(value);
  const fields = isJsonObject(value) ? Object.entries(value) : [];
  const metadata = fields.flatMap(([name, text]) => {
    const key = /^metadata\[(?<key>.*)\]$/s.exec(name)?.groups?.['key'];
    return key === undefined ? [] : [[key, text] as const];
  });
  return { limit, order, after, model, metadata: parseMetadata(Object.fromEntries(metadata)) };
}

function parsePage(value: unknown): z.infer<typeof pageSchema> & { after: string | undefined; model: string | undefined } {
  const parsed = pageSchema.safeParse(value);
  if (parsed.success) return { after: undefined, model: undefined, ...parsed.data };
  const [issue] = parsed.error.issues;
  const param = issue?.path.join('.') ?? '';
  throw new GatewayError('invalid_request', `${param}: ${describeSchemaIssue(issue)}.`, { param });
}
