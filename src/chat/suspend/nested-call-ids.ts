import type { WaitingCall } from '../../core/suspended-run.ts';

/** Under which the events of the outermost run name a call. */
export function eventIdOf({ callId, within = [] }: Pick<WaitingCall, 'callId' | 'within'>): string {
  return [...within.map((outer) => outer.callId), callId].reduce(idWithin);
}

/** The field `within` of such an event: the id of the call around it. */
export function withinOf({ within = [] }: Pick<WaitingCall, 'within'>): { within?: string } {
  return within.length === 0 ? {} : { within: within.map((outer) => outer.callId).reduce(idWithin) };
}

/** The id of a call within another one's. A point needs no encoding in a path. */
export function idWithin(outer: string, inner: string): string {
  return `${outer}.${inner}`;
}
