import { getHeapStatistics } from 'node:v8';
import type { ChatRequest } from '../core/chat/chat.ts';
import { GatewayError } from '../core/errors.ts';
import { chooseLossesOfOthers, sharesOf } from '../shared/fairness/fair-shares.ts';
import { weigh } from '../shared/json/weigh.ts';

/** A run under way, whose request is in memory until its end. */
export interface HeldRequest {
  /** The id of the run. */
  id: string;
  callerId: string;
  /** From `sizeOf`, and what the run has added since; 0 once the run was aborted. */
  size: number;
  controller: AbortController;
}

/** Characters of the requests of all active runs, and of what these have added to them: half of the heap at two bytes each. The other half is for the work. */
export const mostHeldCharacters = getHeapStatistics().heap_size_limit / 4;

/** How much memory a request takes, in characters. */
export function sizeOf({ messages, callerFunctions, hostedTools, parameters, toolServers, variables, files }: ChatRequest): number {
  return weigh([messages, callerFunctions, hostedTools, parameters, toolServers, variables, files]);
}

/**
 * Makes room for one more request, or for one that has grown, by ending other runs. They are taken from the key that uses the most memory, there from the caller who uses the most, the
 * newest first. So neither a caller with many long conversations nor a key with many people harms others.
 * @throws GatewayError `overloaded` if the new request would have to end; then no run was ended
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
  const message =
    'The gateway is answering too many of your long conversations at once. Send this one again when others have been answered.';
  return new GatewayError('overloaded', message, { retryAfter: '5' });
}
