import { specTypeSchemas, type JSONRPCMessage } from '@modelcontextprotocol/client';
import { limits } from '../../core/limits.ts';
import { readChain } from '../../core/tools/gateway-chain.ts';
import type { OfferList } from '../../core/tools/offer-changes.ts';
import { isDeeperThan, isJsonObject, ownValue, type JsonValue } from '../../shared/json/json.ts';
import { hasManyFormalValues } from './incoming/bound-validation.ts';
import { findMisfit } from './incoming/find-misfit.ts';
import type { StreamEnd } from './transports/bounded-stream.ts';
import { mcpFormalValues } from './incoming/bound-validation.ts';

/** Notifications of one MCP server: burst and rate. Further ones are dropped. */
export const mcpNotificationBurst = 2_000;
/** Consecutive dropped notifications until the connection is closed. */
export const mcpDroppedNotifications = 20_000;

/** How long to wait for an answer after the end of its stream, before the stream counts as cut off. */
export const mcpCutGraceMs = 250;
/** Of the title and the description of a tool, these are compared with what was first seen; hashing megabytes takes 100 ms. */
export const mcpComparedCharacters = 64 * 1024;

interface NotificationBudgetOptions {
  /** Called when the first notification is dropped after a period without drops. */
  onDropped: () => void;
  /** Called when so many were dropped in a row that whatever causes them has to end. */
  onFlood: () => void;
  /** Called when ten times as many have come: it did not end. */
  onUnstoppable?: () => void;
  /** Milliseconds. */
  now?: () => number;
}

/**
 * Rate-limits a server's notifications (progress, log messages, list changes) and drops the excess. Responses and requests always pass. Returns
 * whether the message passes.
 */
export function createNotificationBudget({
  onDropped,
  onFlood,
  onUnstoppable,
  now = () => performance.now(),
}: NotificationBudgetOptions): (message: JSONRPCMessage) => boolean {
  const [burst, perSecond, maxDropped] = [mcpNotificationBurst, limits.mcpNotificationsPerSecond, mcpDroppedNotifications];
  let tokens: number = burst;
  let refilledAt = now();
  let dropped = 0;

  return (message) => {
    if (!('method' in message) || 'id' in message) return true;
    const time = now();
    tokens = Math.min(burst, tokens + ((time - refilledAt) * perSecond) / 1_000);
    refilledAt = time;
    if (tokens === burst) dropped = 0;
    if (tokens >= 1) {
      tokens -= 1;
      return true;
    }
    dropped += 1;
    if (dropped === 1) onDropped();
    if (dropped === maxDropped) onFlood();
    if (dropped === 10 * maxDropped) onUnstoppable?.();
    return false;
  };
}

/** Detects response streams that end without the answer, for which the SDK would wait until its time limit. */
export interface AnswerWatch {
  /** A stream that should carry the answer to a request has begun. Call the returned function when the stream has ended. */
  begin(requestId: number | string, onLost: () => void): (end: StreamEnd) => void;
  /** Must see every incoming message. */
  observe(message: JSONRPCMessage): void;
}

export function createAnswerWatch(): AnswerWatch {
  const open = new Map<number | string, { isAnswered: boolean }>();
  return {
    begin(requestId, onLost) {
      const request = { isAnswered: false };
      open.set(requestId, request);
      return ({ isResumable }) => {
        // The SDK processes the last messages slightly after the stream ends, and resumes a stream that has event ids.
        setTimeout(() => {
          if (open.get(requestId) === request) open.delete(requestId);
          if (!request.isAnswered && !isResumable) onLost();
        }, mcpCutGraceMs).unref();
      };
    },
    observe(message) {
      const request = 'method' in message || message.id === undefined ? undefined : open.get(message.id);
      if (request !== undefined) request.isAnswered = true;
    },
  };
}

/** The JSON-RPC id of a request body; undefined for a notification. */
export function requestIdIn(body: string): number | string | undefined {
  const message: unknown = JSON.parse(body);
  const id = isJsonObject(message) ? message['id'] : undefined;
  return typeof id === 'number' || typeof id === 'string' ? id : undefined;
}

const changedLists: Readonly<Record<string, OfferList>> = {
  'notifications/tools/list_changed': 'tools',
  'notifications/resources/list_changed': 'resources',
  'notifications/prompts/list_changed': 'prompts',
};

/** The list that has changed, according to the server. */
export function announcedChange(message: JSONRPCMessage): { lists: OfferList[]; gateways: string[] } | undefined {
  if (!('method' in message)) return undefined;
  const list = changedLists[message.method];
  return list && { lists: [list], gateways: readChain(message.params?._meta) ?? [] };
}

const contentsLists = {
  resources: specTypeSchemas.Resource,
  resourceTemplates: specTypeSchemas.ResourceTemplate,
  prompts: specTypeSchemas.Prompt,
};

/** Removes malformed resources, templates and prompts from a list, for the sake of which the SDK would reject the others. */
export function withoutMalformedContents(message: JSONRPCMessage): JSONRPCMessage {
  if (!('result' in message)) return message;
  const result: Record<string, unknown> = message.result;
  for (const [key, schema] of Object.entries(contentsLists)) {
    const entries = result[key];
    if (!Array.isArray(entries)) continue;
    const valid = entries.filter((entry) => whyMalformed(schema, entry) === undefined);
    return { ...message, result: { ...result, [key]: valid } };
  }
  return message;
}

/** A list entry that is not a valid tool by the protocol. */
export interface MalformedTool {
  name: string;
  reason: string;
}

/** Removes malformed tools from a server's list: the SDK rejects the whole list because of one. */
interface MalformedToolFilter {
  /** Must see every incoming message. */
  filter(message: JSONRPCMessage): JSONRPCMessage;
  /** Collects what is removed from now on until `end` is called. */
  gather(): { found: readonly MalformedTool[]; end(): void };
}

/** `maxPages`: of one list, which may have no end. */
export function createMalformedToolFilter(maxPages: number): MalformedToolFilter {
  const collectors = new Set<{ found: MalformedTool[]; pages: number }>();

  return {
    filter(message) {
      if (collectors.size === 0 || !('result' in message)) return message;
      const { tools } = message.result as { tools?: unknown };
      if (!Array.isArray(tools)) return message;
      const valid = (tools as JsonValue[]).flatMap((tool, index) => {
        const problem = whyMalformed(specTypeSchemas.Tool, tool);
        if (problem === undefined) return [withoutLongTexts(tool)];
        const name = isJsonObject(tool) ? ownValue(tool, 'name') : undefined;
        const malformed = {
          name: typeof name === 'string' ? name : `number ${index + 1}`,
          reason: `its definition is not valid: ${problem}`,
        };
        for (const { found } of collectors) if (found.length < limits.mcpTools) found.push(malformed);
        return [];
      });
      const result: typeof message.result & { nextCursor?: unknown } = { ...message.result, tools: valid };
      for (const collector of collectors) {
        collector.pages += 1;
        if (collector.pages < maxPages || result.nextCursor === undefined) continue;
        // The SDK gives up the whole list for it.
        delete result.nextCursor;
        collector.found.push({ name: `after page ${maxPages}`, reason: `a list has at most ${maxPages} pages` });
      }
      return { ...message, result };
    },
    gather() {
      const collector = { found: [] as MalformedTool[], pages: 0 };
      collectors.add(collector);
      return { found: collector.found, end: () => void collectors.delete(collector) };
    },
  };
}

/**
 * Levels of an entry of a list, which lies within a list within a result within a message, perhaps within a batch. An entry with more has lost what was
 * nested deeper than a message may be.
 */
const entryDepth = limits.bodyDepth - 4;

function whyMalformed(schema: Parameters<typeof findMisfit>[0], entry: unknown): string | undefined {
  if (isDeeperThan(entry, entryDepth)) return `it is nested more than ${entryDepth} levels deep`;
  if (hasManyFormalValues(entry)) return `it has more than ${mcpFormalValues} values besides its schemas`;
  return findMisfit(schema, entry);
}

function withoutLongTexts(tool: JsonValue): JsonValue {
  if (!isJsonObject(tool)) return tool;
  const shortened = { ...tool };
  for (const key of ['title', 'description']) {
    const text = ownValue(tool, key);
    if (typeof text === 'string' && text.length > mcpComparedCharacters)
      shortened[key] = text.slice(0, mcpComparedCharacters).toWellFormed();
  }
  return shortened;
}
