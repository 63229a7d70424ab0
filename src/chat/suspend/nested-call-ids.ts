import type { WaitingCall } from '../../core/runs/suspended-run.ts';

/** The id of a call in the events of the outermost run. */
export function eventIdOf({ callId, within = [] }: Pick<WaitingCall, 'callId' | 'within'>): string {
  return [...within.map((outer) => outer.callId), callId].reduce(idWithin);
}

/** The `within` field of such an event: the id of the enclosing call. */
export function withinOf({ within = [] }: Pick<WaitingCall, 'within'>): { within?: string } {
  return within.length === 0 ? {} : { within: within.map((outer) => outer.callId).reduce(idWithin) };
}

/** The id of a nested call. A dot needs no encoding in a path. */
export function idWithin(outer: string, inner: string): string {
  return `${outer}.${inner}`;
}
