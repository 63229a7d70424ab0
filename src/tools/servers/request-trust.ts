import type { Trust } from '../../core/outbound.ts';
import type { RunContext } from '../../core/runs/run.ts';

/** Callers who may reach private addresses anyway may also name them in a request. */
export function mayReachPrivate({ caller }: Pick<RunContext, 'caller'>): boolean {
  return caller.role === 'admin' || caller.isOpen;
}

/** Trust in the servers that a request brings. */
export function trustOf(run: RunContext): Trust {
  return { kind: 'request', mayReachPrivate: mayReachPrivate(run) };
}
