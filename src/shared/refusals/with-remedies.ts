import type { Emit } from '../async/emit.ts';

interface Remedies<Request, Event> {
  emit: Emit<Event>;
  /** The request to try instead after this failure; undefined: the failure is final. */
  remedy: (error: unknown, failed: Request) => Request | undefined | Promise<Request | undefined>;
  /** How often the request may be repeated. Default: once. */
  maxRepeats?: number;
  /** Whether an event is part of the answer, after which nothing is repeated, to avoid duplicate output. Default: all but events of the run. */
  isAnswer?: (event: Event) => boolean;
}

/** Makes a request; if it fails before the first event of its answer and there is a remedy, repeats it changed. */
export async function withRemedies<Request, Event extends { type: string }, Result>(
  first: Request,
  attempt: (request: Request, emit: Emit<Event>) => Promise<Result>,
  { emit, remedy, maxRepeats = 1, isAnswer = isOfModel }: Remedies<Request, Event>,
): Promise<Result> {
  let request = first;
  let hasBegun = false;
  const watched: Emit<Event> = (events) => {
    hasBegun ||= events.some(isAnswer);
    return emit(events);
  };
  for (let repeats = 0; ; repeats += 1) {
    try {
      return await attempt(request, watched);
    } catch (error) {
      const next = hasBegun || repeats >= maxRepeats ? undefined : await remedy(error, request);
      if (next === undefined) throw error;
      request = next;
    }
  }
}

function isOfModel({ type }: { type: string }): boolean {
  return type !== 'run-event' && type !== 'selecting';
}
