import { getHeapStatistics } from 'node:v8';
import { keyIdOf } from '../core/callers/people.ts';
import type { ChatRequest } from '../core/chat/chat.ts';
import { GatewayError } from '../core/errors.ts';

/** A run under way, whose request is in memory until its end. */
export interface HeldRequest {
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
 * Ends what is in the way of one more request: the newest run of the caller who holds the most, in the key that holds the most, until there is room. So whoever
 * has many long conversations answered at a time harms no other, nor do many people of one key.
 * @throws GatewayError `overloaded`, where that is the new one; then nothing was ended
 */
export function makeRoom(
  held: readonly HeldRequest[],
  { callerId, size }: Pick<HeldRequest, 'callerId' | 'size'>,
  mostCharacters: number,
): void {
  const left: Candidate[] = held.map((run) => ({ callerId: run.callerId, size: run.size, run }));
  left.push({ callerId, size });
  const victims: HeldRequest[] = [];
  for (let sum = left.reduce((total, entry) => total + entry.size, 0); sum > mostCharacters;) {
    const victim = newestOfHeaviest(left);
    if (victim?.run === undefined) throw overloaded();
    victims.push(victim.run);
    sum -= victim.size;
    victim.size = 0;
  }
  for (const victim of victims) {
    victim.size = 0;
    victim.controller.abort(overloaded());
  }
}

interface Candidate {
  callerId: string;
  size: number;
  /** Absent for the new one. */
  run?: HeldRequest;
}

function newestOfHeaviest(all: readonly Candidate[]): Candidate | undefined {
  const key = heaviestBy(all, ({ callerId }) => keyIdOf(callerId));
  const ofKey = all.filter(({ callerId }) => keyIdOf(callerId) === key);
  const caller = heaviestBy(ofKey, ({ callerId }) => callerId);
  return ofKey.findLast(({ callerId, size }) => callerId === caller && size > 0);
}

function heaviestBy(all: readonly Candidate[], nameOf: (entry: Candidate) => string): string | undefined {
  const sums = new Map<string, number>();
  for (const entry of all) sums.set(nameOf(entry), (sums.get(nameOf(entry)) ?? 0) + entry.size);
  return [...sums].reduce<[string, number] | undefined>(
    (most, next) => (most === undefined || next[1] > most[1] ? next : most),
    undefined,
  )?.[0];
}

function overloaded(): GatewayError {
  const message = 'The gateway is answering too many long conversations of yours at a time. Send it again when others have been answered.';
  return new GatewayError('overloaded', message, { retryAfter: '5' });
}
