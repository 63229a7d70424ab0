import type { RunEvent } from './run-event.ts';

/** An entry of `warnings` in an answer: something in the request could not be used. */
export interface CallerWarning {
  code: string;
  message: string;
}

/** Warnings that are events only and not in the answer: everything in the request was used nevertheless. */
const harmlessCodes: ReadonlySet<unknown> = new Set([
  'function_renamed',
  'call_rescued',
  'call_not_rescued',
  'task_model_unavailable',
  'tools_unsupported',
  'parameter_renamed',
  'functions_missed',
  'messages_rearranged',
  'call_ids_mapped',
  'reasoning_missing',
  'usage_unavailable',
  'reasoning_unavailable',
  'responses_api',
  'form_relaxed',
  'kept_for_retry',
]);

/** The warning that the caller has to read in the answer itself; undefined for every other event. */
function callerWarningIn({ type, data }: RunEvent): CallerWarning | undefined {
  if (type !== 'warning') return undefined;
  const { code, message } = data;
  return harmlessCodes.has(code) ? undefined : { code, message };
}

/** The public id of the model that answers from here on, if it is not the one that the request names. Of the run itself, not of a preset within it. */
export function modelThatAnswers({ type, data }: RunEvent): string | undefined {
  return type === 'warning' && data.within === undefined ? data.model : undefined;
}

/** The event that warns: of a run, and of the answer of a model. */
export function warningEvent(warning: CallerWarning): { type: 'run-event'; event: RunEvent } {
  return { type: 'run-event', event: { type: 'warning', data: { ...warning } } };
}

/** Collects the warnings that `callerWarningIn` finds, without duplicates: several presets of one run may open the same servers. */
export class CallerWarnings {
  readonly list: CallerWarning[] = [];

  /** Returns the warning if it is new. */
  add(event: RunEvent): CallerWarning | undefined {
    const warning = callerWarningIn(event);
    if (warning === undefined) return undefined;
    const isKnown = this.list.some(({ code, message }) => code === warning.code && message === warning.message);
    if (isKnown || this.list.length >= maxCallerWarnings) return undefined;
    this.list.push(warning);
    return warning;
  }
}

/** A request names at most a few dozen servers, so more warnings say nothing new. */
export const maxCallerWarnings = 100;
