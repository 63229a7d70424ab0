import { z } from 'zod';
import type { ElicitationRequest } from '../../../core/user-input/elicitation.ts';
import { describeSchemaIssue } from '../../../shared/describe-schema-issue.ts';
import { isDeeperThan, isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { GatewayError } from '../../../core/errors.ts';
import { limits } from '../../../core/limits.ts';
import { parseInPlace, parseJsonBody } from '../../body/parse-json-body.ts';

/** A frame from a browser. */
export type ClientFrame =
  /** `user`: the person, as the key's rule has it: an id or a signed token. */
  | { type: 'auth'; token?: string | undefined; sessionId?: string | undefined; user?: string | undefined }
  /** The fields are not validated; `toChatBody` converts them. */
  | { type: 'message'; fields: JsonObject }
  /** Without `runId`: all chats of the session. */
  | { type: 'cancel'; runId?: string | undefined }
  /** The answer to an elicitation; `data` is not validated. */
  | { type: 'answer'; elicitation: ElicitationRequest['type']; id: string; data: JsonObject }
  | { type: 'execute:tool:result'; id: string; result?: JsonValue | undefined; error?: JsonValue | undefined };

export type ParsedFrame = { type: 'frame'; frame: ClientFrame } | { type: 'invalid'; message: string };

const id = z.string().min(1).max(256);
const words = z.string().max(limits.approvalMessageCharacters).nullish();
const anyJson = z.custom<JsonValue>().optional();

const edited = z.custom<JsonObject>(isJsonObject).nullish();
const frameSchemas = {
  auth: z
    .object({ token: z.string().max(4_096).nullish(), session_id: z.string().max(256).nullish(), user: z.string().max(4_096).nullish() })
    .transform(({ token, session_id, user }): ClientFrame => ({
      type: 'auth',
      token: token ?? undefined,
      sessionId: session_id ?? undefined,
      user: user ?? undefined,
    })),
  message: z.custom<JsonObject>(isJsonObject).transform((fields): ClientFrame => ({ type: 'message', fields })),
  cancel: z.object({ run_id: id.nullish() }).transform(({ run_id }): ClientFrame => ({ type: 'cancel', runId: run_id ?? undefined })),
  'execute:tool:result': z
    .object({ id, result: anyJson, error: anyJson })
    .transform((data): ClientFrame => ({ type: 'execute:tool:result', ...data })),
  'confirmation:result': z
    // An unknown field is refused: it may hold the edited arguments, and without it the call would run with the model's.
    .strictObject({
      id,
      decision: z.enum(['approve', 'reject']),
      params: edited,
      // Their name over HTTP.
      arguments: edited,
      message: words,
      remember: z.boolean().nullish(),
    })
    .transform(({ params, arguments: args, ...rest }) => ({ ...rest, ...(isJsonObject(params ?? args) && { params: params ?? args }) }))
    .transform((data): ClientFrame => ({ type: 'answer', elicitation: 'confirmation', id: data.id, data: data as JsonObject })),
  'input:result': z
    .looseObject({ id })
    .transform((data): ClientFrame => ({ type: 'answer', elicitation: 'input', id: data.id, data: data as JsonObject })),
  'connect:result': z
    .looseObject({ id })
    .transform((data): ClientFrame => ({ type: 'answer', elicitation: 'connect', id: data.id, data: data as JsonObject })),
} as const;
const knownTypes = Object.keys(frameSchemas);

/**
 * Parses a text frame: `{type, data:{…}}`, or flat as `{type, …}`. Unknown types and malformed data are `invalid`, never thrown. Returns a promise for a
 * large frame, which is parsed in a worker.
 */
export function readSocketFrame(bytes: Buffer, options: { caller: string; signal: AbortSignal }): ParsedFrame | Promise<ParsedFrame> {
  return readInPlace(bytes) ?? readInWorker(bytes, options);
}

const reading = { maxDepth: limits.jsonDepth, prototypes: 'remove' } as const;
/** Paths of OpenAPI documents in a frame `message`, as in the body of a chat. */
const documents = ['data.tool_servers.*.openapi', 'tool_servers.*.openapi'];

function readInPlace(bytes: Buffer): ParsedFrame | undefined {
  try {
    const parsed = parseInPlace(bytes, reading);
    return parsed === undefined ? undefined : toFrame(parsed.value);
  } catch (error) {
    return refused(error);
  }
}

async function readInWorker(bytes: Buffer, options: { caller: string; signal: AbortSignal }): Promise<ParsedFrame> {
  try {
    // Copied, because the frame shares its buffer with others of its socket.
    return toFrame(await parseJsonBody(Buffer.from(bytes), { ...reading, ...options, documents }));
  } catch (error) {
    return refused(error);
  }
}

function refused(error: unknown): ParsedFrame {
  return invalid(error instanceof GatewayError ? error.message.replace('The body', 'The frame') : 'The frame cannot be parsed.');
}

function toFrame(value: JsonValue): ParsedFrame {
  if (!isJsonObject(value)) return invalid('A frame must be an object {type, data}.');
  if (isDeeperThan(value, limits.jsonDepth)) return invalid(`A frame may be nested at most ${limits.jsonDepth} levels deep.`);
  const type = ownValue(value, 'type');
  if (typeof type !== 'string') return invalid('A frame needs a type.');
  if (!isKnownType(type)) return invalid(`Unknown type ${JSON.stringify(type.slice(0, 64))}. Known: ${knownTypes.join(', ')}.`);
  const parsed = frameSchemas[type].safeParse(dataOf(value));
  if (parsed.success) return { type: 'frame', frame: parsed.data };
  const [issue] = parsed.error.issues;
  return invalid(`${type}: ${issue?.path.join('.') ?? ''} ${describeSchemaIssue(issue)}`.replaceAll(/\s+/g, ' '));
}

function isKnownType(type: string): type is keyof typeof frameSchemas {
  return Object.hasOwn(frameSchemas, type);
}

function dataOf(frame: JsonObject): JsonObject {
  const data = ownValue(frame, 'data');
  if (isJsonObject(data)) return data;
  const { type: _type, ...fields } = frame;
  return fields;
}

function invalid(message: string): ParsedFrame {
  return { type: 'invalid', message };
}
