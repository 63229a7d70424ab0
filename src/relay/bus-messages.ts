import { z } from 'zod';
import type { JsonObject, JsonValue } from '../shared/json.ts';
import { isJsonObject } from '../shared/json.ts';
import type { ToolErrorCode, ToolOutcome } from '../core/tool.ts';

/** Where a session listens, on whichever replica its socket is. */
export const sessionChannel = (sessionId: string): string => `relay:session:${sessionId}`;
/** Where a replica waits for the replies to its requests. */
export const replicaChannel = (replicaId: string): string => `relay:replica:${replicaId}`;
/** Where every replica hears that a caller's key is gone. */
export const callersChannel = 'relay:callers';

/** Node runs a longer timer at once. */
export const longestTimerMs = 2 ** 31 - 1;

const id = z.string().min(1).max(256);
const object = z.custom<JsonObject>(isJsonObject);
const request = { id, sessionId: id, replyTo: id };

const sessionMessage = z.discriminatedUnion('type', [
  /** Run a tool; `data` is that of the frame `execute:tool`. */
  z.object({
    type: z.literal('call'),
    ...request,
    callerId: id,
    runId: id,
    timeoutMs: z.number().positive().max(longestTimerMs),
    data: object,
  }),
  /** Ask the user for input; `data` is that of the frame, without its id. */
  z.object({
    type: z.literal('elicit'),
    ...request,
    callerId: id,
    runId: id,
    timeoutMs: z.number().positive().max(longestTimerMs),
    elicitation: z.enum(['confirmation', 'input']),
    data: object,
  }),
  /** The call or elicitation `id` is no longer wanted. */
  z.object({ type: z.literal('cancel'), id, sessionId: id }),
  /** Is the call or elicitation `id` still open? Answered only when it is not. */
  z.object({ type: z.literal('probe'), ...request }),
  z.object({ type: z.literal('frame'), ...request, callerId: id, frame: object }),
  /** Hand the session over: its browser has come back to another replica. */
  z.object({ type: z.literal('take'), ...request, callerId: id }),
]);
export type SessionMessage = z.infer<typeof sessionMessage>;
export type SessionRequest = Exclude<SessionMessage, { type: 'cancel' }>;

const outcome = z.discriminatedUnion('type', [
  z.object({ type: z.literal('result'), value: z.custom<JsonValue>((value) => value !== undefined) }),
  z.object({
    type: z.literal('error'),
    code: z.enum(['tool_error', 'client_unavailable', 'client_disconnected'] satisfies ToolErrorCode[]),
    message: z.string(),
    detail: z.custom<JsonValue>().optional(),
  }),
]);

const reply = z.discriminatedUnion('type', [
  z.object({ type: z.literal('outcome'), outcome: z.custom<ToolOutcome>((value) => outcome.safeParse(value).success) }),
  z.object({ type: z.literal('answer'), data: object }),
  /** `isThere`: the session was there, and its browser has gone. */
  z.object({ type: z.literal('unanswered'), isThere: z.boolean() }),
  z.object({ type: z.literal('accepted'), isAccepted: z.boolean() }),
  z.object({ type: z.literal('taken'), frames: z.array(object) }),
]);
export type Reply = z.infer<typeof reply>;

const replyMessage = z.object({ type: z.literal('reply'), id, sessionId: id, reply });
export type ReplyMessage = z.infer<typeof replyMessage>;

const callersMessage = z.object({ type: z.literal('close-caller'), callerId: id });

/** Undefined when malformed: a bus is shared, and a message on it proves nothing about who wrote it. */
export function parseSessionMessage(message: unknown): SessionMessage | undefined {
  return sessionMessage.safeParse(message).data;
}

export function parseReplyMessage(message: unknown): ReplyMessage | undefined {
  return replyMessage.safeParse(message).data;
}

/** The caller whose sessions have to close. */
export function parseCallersMessage(message: unknown): string | undefined {
  return callersMessage.safeParse(message).data?.callerId;
}
