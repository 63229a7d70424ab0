import { z } from 'zod';
import { isJsonObject, type JsonObject, type JsonValue } from '../shared/json/json.ts';
import { longestTimerMs } from '../shared/async/timer-limits.ts';
import type { ToolErrorCode, ToolOutcome } from '../core/tools/tool.ts';

/** The channel of a session, to which the replica with its socket subscribes. */
export const sessionChannel = (sessionId: string): string => `relay:session:${sessionId}`;
/** The channel for replies to the requests of a replica. */
export const replicaChannel = (replicaId: string): string => `relay:replica:${replicaId}`;
/** The channel of all replicas for keys that were deleted or have expired. */
export const callersChannel = 'relay:callers';

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
  /** Request input from the user; `data` is that of the frame, without its id. */
  z.object({
    type: z.literal('elicit'),
    ...request,
    callerId: id,
    runId: id,
    timeoutMs: z.number().positive().max(longestTimerMs),
    elicitation: z.enum(['confirmation', 'input', 'connect']),
    /** Whether it stays open while the browser is away. */
    isPatient: z.boolean(),
    data: object,
  }),
  /** Cancel the call or elicitation `id`. */
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
  /** `isThere`: the session exists, but its browser disconnected. */
  z.object({ type: z.literal('unanswered'), isThere: z.boolean() }),
  z.object({ type: z.literal('accepted'), isAccepted: z.boolean() }),
  z.object({ type: z.literal('taken'), frames: z.array(object) }),
]);
export type Reply = z.infer<typeof reply>;

const replyMessage = z.object({ type: z.literal('reply'), id, sessionId: id, reply });
type ReplyMessage = z.infer<typeof replyMessage>;

const callersMessage = z.object({ type: z.literal('close-caller'), callerId: id });

/** Undefined for a malformed message. The bus is shared, so nothing in a message proves who sent it. */
export function parseSessionMessage(message: unknown): SessionMessage | undefined {
  return sessionMessage.safeParse(message).data;
}

export function parseReplyMessage(message: unknown): ReplyMessage | undefined {
  return replyMessage.safeParse(message).data;
}

/** The id of the caller whose sessions have to close. */
export function parseCallersMessage(message: unknown): string | undefined {
  return callersMessage.safeParse(message).data?.callerId;
}
