import { getHeapStatistics } from 'node:v8';
import type { ChatRequest } from '../core/chat/chat.ts';
import { GatewayError } from '../core/errors.ts';
import { chooseLossesOfOthers, sharesOf } from '../shared/fair-shares.ts';

/** A run under way, whose request is in memory until its end. */
export interface HeldRequest {
  /** Of the run. */
  id: string;
  callerId: string;
  /** From `sizeOf`; 0 once it was told to end. */
  size: number;
  controller: AbortController;
}

/** Characters of the requests of all runs under way: half of the heap at two bytes each, so that the other half is left for the work. */
export const mostHeldCharacters = getHeapStatistics().heap_size_limit / 4;
/** What V8 needs for an object or a list besides its texts, in characters. */
const objectCharacters = 64;

/** How much memory a request takes, in characters. */
export function sizeOf({ messages, callerFunctions, hostedTools, parameters, toolServers, variables, files }: ChatRequest): number {
  return weightOf([messages, callerFunctions, hostedTools, parameters, toolServers, variables, files]);
}

function weightOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  let weight = objectCharacters;
  if (Array.isArray(value)) for (const child of value as unknown[]) weight += weightOf(child);
  // Faster than `Object.values`.
  else for (const name in value) weight += weightOf((value as Record<string, unknown>)[name]);
  return weight;
}

/**
 * Makes room for one more request: the newest run of the caller who holds the most, in the key that holds the most, ends until there is room. So whoever has
 * many long conversations answered at a time harms no other, nor do many people of one key.
 * @throws GatewayError `overloaded`, where that would be the new one; then nothing was ended
 */
export function makeRoom(
  held: readonly HeldRequest[],
  { callerId, size }: Pick<HeldRequest, 'callerId' | 'size'>,
  mostCharacters: number,
): void {
  const newestFirst = held.filter((run) => run.size > 0).toReversed();
  const bounds = { entries: Number.POSITIVE_INFINITY, characters: mostCharacters };
  const losses = chooseLossesOfOthers({ owner: callerId, characters: size }, sharesOf(newestFirst, charactersOf), bounds);
  if (losses === undefined) throw overloaded();
  const ended = new Set(losses.map(({ id }) => id));
  for (const run of newestFirst.filter(({ id }) => ended.has(id))) {
    run.size = 0;
    run.controller.abort(overloaded());
  }
}

const charactersOf = ({ size }: HeldRequest): number => size;

function overloaded(): GatewayError {
  const message = 'The gateway is answering too many long conversations of yours at a time. Send it again when others have been answered.';
  return new GatewayError('overloaded', message, { retryAfter: '5' });
}
