import { isSpecType, specTypeSchemas } from '@modelcontextprotocol/client';
import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { limits } from '../../core/limits.ts';
import { isJsonObject, ownValue } from '../../shared/json.ts';
import type { JsonValue } from '../../shared/json.ts';
import type { StreamEnd } from './bounded-stream.ts';

export interface NotificationBudgetOptions {
  /** The first notification was dropped, after a time in which none was. */
  onDropped: () => void;
  /** So many were dropped without a pause that the connection has to end. */
  onFlood: () => void;
  /** Milliseconds. */
  now?: () => number;
}

/**
 * Lets a server send notifications (progress, log messages, changes of its list) at a certain rate, and drops the others: what is reported more
 * often than anybody can read is a fault. Answers and requests always pass. True: the message passes.
 */
export function createNotificationBudget({
  onDropped,
  onFlood,
  now = () => performance.now(),
}: NotificationBudgetOptions): (message: JSONRPCMessage) => boolean {
  const { mcpNotificationBurst: burst, mcpNotificationsPerSecond: perSecond, mcpDroppedNotifications: maxDropped } = limits;
  let left: number = burst;
  let countedAt = now();
  let dropped = 0;

  return (message) => {
    if (!('method' in message) || 'id' in message) return true;
    const at = now();
    left = Math.min(burst, left + ((at - countedAt) * perSecond) / 1_000);
    countedAt = at;
    if (left === burst) dropped = 0;
    if (left >= 1) {
      left -= 1;
      return true;
    }
    dropped += 1;
    if (dropped === 1) onDropped();
    if (dropped === maxDropped) onFlood();
    return false;
  };
}

/** Notices answers that were promised and never came: the SDK would wait for them until its time limit. */
export interface AnswerWatch {
  /** A stream has begun that should hold the answer to a request. What it gives is to be called when the stream is over. */
  begin(requestId: number | string, onLost: () => void): (end: StreamEnd) => void;
  /** Every message that comes in. */
  note(message: JSONRPCMessage): void;
}

export function createAnswerWatch(): AnswerWatch {
  const open = new Map<number | string, { isAnswered: boolean }>();
  return {
    begin(requestId, onLost) {
      const request = { isAnswered: false };
      open.set(requestId, request);
      return ({ isResumable }) => {
        // The SDK reads on a moment longer than the stream lasts; and what has ids it asks for again.
        setTimeout(() => {
          if (open.get(requestId) === request) open.delete(requestId);
          if (!request.isAnswered && !isResumable) onLost();
        }, limits.mcpCutGraceMs).unref();
      };
    },
    note(message) {
      const request = 'method' in message || message.id === undefined ? undefined : open.get(message.id);
      if (request !== undefined) request.isAnswered = true;
    },
  };
}

/** The id of the request in a body; undefined for a notification. */
export function requestIdIn(body: string): number | string | undefined {
  const message: unknown = JSON.parse(body);
  const id = isJsonObject(message) ? message['id'] : undefined;
  return typeof id === 'number' || typeof id === 'string' ? id : undefined;
}

/** A tool of a list that is no tool by the protocol. */
export interface MalformedTool {
  name: string;
  reason: string;
}

/** Takes malformed tools out of what a server lists: the SDK refuses a whole list for the sake of one. */
export interface MalformedToolFilter {
  /** Every message that comes in. `isLegacy`: of the first protocol era, whose output schemas are objects. */
  filter(message: JSONRPCMessage, isLegacy: boolean): JSONRPCMessage;
  /** Gathers what is taken out from now on, until `end`. */
  gather(): { found: readonly MalformedTool[]; end(): void };
}

export function createMalformedToolFilter(): MalformedToolFilter {
  const gathering = new Set<MalformedTool[]>();

  return {
    filter(message, isLegacy) {
      if (gathering.size === 0 || !('result' in message)) return message;
      const { tools } = message.result as { tools?: unknown };
      if (!Array.isArray(tools)) return message;
      const sound = (tools as JsonValue[]).flatMap((tool, index) => {
        const problem = problemOf(tool);
        if (problem === undefined) return [isLegacy ? withoutOddOutput(tool) : tool];
        const name = isJsonObject(tool) ? ownValue(tool, 'name') : undefined;
        const malformed = {
          name: typeof name === 'string' ? name : `number ${index + 1}`,
          reason: `its definition is not valid: ${problem}`,
        };
        for (const found of gathering) if (found.length < limits.mcpTools) found.push(malformed);
        return [];
      });
      return { ...message, result: { ...message.result, tools: sound } };
    },
    gather() {
      const found: MalformedTool[] = [];
      gathering.add(found);
      return { found, end: () => void gathering.delete(found) };
    },
  };
}

function problemOf(tool: JsonValue): string | undefined {
  const checked = specTypeSchemas.Tool['~standard'].validate(tool);
  if (checked instanceof Promise) return 'it is no tool';
  if (checked.issues === undefined) return undefined;
  const [issue] = checked.issues;
  const path = (issue?.path ?? []).map((step) => String(typeof step === 'object' ? step.key : step)).join('.');
  return `${path === '' ? '' : `${path}: `}${issue?.message ?? 'it is no tool'}`.slice(0, 300);
}

/** It only serves to check results, and is no reason to do without the tool. */
function withoutOddOutput(tool: JsonValue): JsonValue {
  if (!isJsonObject(tool)) return tool;
  const { outputSchema, ...rest } = tool;
  return outputSchema === undefined || isSpecType.Tool({ name: 'output', inputSchema: outputSchema }) ? tool : rest;
}
