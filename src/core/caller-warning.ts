import type { RunEvent } from './run-event.ts';

/** An entry of `warnings` in an answer: something that was asked for could not be used. */
export interface CallerWarning {
  code: string;
  message: string;
}

/** Warnings about the way to the answer: everything that was asked for was used nevertheless. */
const harmlessCodes: ReadonlySet<unknown> = new Set([
  'function_renamed',
  'call_rescued',
  'call_not_rescued',
  'task_model_unavailable',
  'tools_unsupported',
  'kept_for_retry',
]);

/** The warning that the caller has to read in the answer itself; undefined for every other event. */
export function callerWarningIn({ type, data }: RunEvent): CallerWarning | undefined {
  const { code, message } = data;
  if (type !== 'warning' || typeof code !== 'string' || typeof message !== 'string') return undefined;
  return harmlessCodes.has(code) ? undefined : { code, message };
}

/** Collects what `callerWarningIn` finds, each warning once: a run that is answered by several presets opens the same servers again. */
export class CallerWarnings {
  readonly list: CallerWarning[] = [];

  /** The warning when it is new. */
  add(event: RunEvent): CallerWarning | undefined {
    const warning = callerWarningIn(event);
    if (warning === undefined) return undefined;
    const isKnown = this.list.some(({ code, message }) => code === warning.code && message === warning.message);
    if (isKnown || this.list.length >= maxWarnings) return undefined;
    this.list.push(warning);
    return warning;
  }
}

/** A request names at most a few dozen servers; more warnings say nothing new. */
const maxWarnings = 100;
