import type { DecidedCall, ResumedRun } from '../../core/suspended-run.ts';
import type { Source } from '../../core/chat.ts';
import type { JsonObject } from '../../shared/json.ts';

export interface TrackedRun extends ResumedRun {
  /** What it would go on with if it failed now, and the decisions for that; undefined amid its calls. */
  retryFrom(): { loop: JsonObject; left: DecidedCall[] } | undefined;
}

/** What a resumed run is given: its checkpoint once, and each decision once, to the call that was shown. */
export function createResumedRun(
  { loop, sources }: { loop: JsonObject; sources: readonly Source[] },
  decided: readonly DecidedCall[],
): TrackedRun {
  let left = [...decided];
  let isTaken = false;
  /** Until calls begin, all of it is still to be done. */
  let checkpoint: (() => JsonObject) | 'as_suspended' | undefined = 'as_suspended';

  return {
    takeCheckpoint() {
      if (isTaken) return undefined;
      isTaken = true;
      return { loop, sources };
    },
    takeDecision(callId, args) {
      const text = JSON.stringify(args);
      const isFor = ({ call }: DecidedCall): boolean =>
        (call.within ?? []).length === 0 && call.callId === callId && JSON.stringify(call.args) === text;
      const index = left.findIndex(isFor);
      return index < 0 ? undefined : left.splice(index, 1)[0];
    },
    takeInnerDecisions(index) {
      const isWithin = ({ call }: DecidedCall): boolean => call.within?.[0]?.index === index;
      const taken = left.filter(isWithin);
      left = left.filter((each) => !isWithin(each));
      return taken.map(({ call, answer }) => ({ call: { ...call, within: call.within?.slice(1) ?? [] }, answer }));
    },
    setCheckpoint(next) {
      checkpoint = next;
    },
    retryFrom() {
      if (checkpoint === 'as_suspended') return { loop, left: [...decided] };
      return checkpoint && { loop: checkpoint(), left: [] };
    },
  };
}
