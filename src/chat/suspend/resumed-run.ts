import type { DecidedCall, ResumedRun } from '../../core/runs/suspended-run.ts';
import type { Source } from '../../core/chat/chat.ts';
import type { JsonObject } from '../../shared/json/json.ts';

export interface TrackedRun extends ResumedRun {
  /** The checkpoint from which it could be retried if it failed now, with the decisions left; undefined while calls are running. */
  retryFrom(): { loop: JsonObject; left: DecidedCall[] } | undefined;
}

/** Returns the checkpoint of a resumed run once, and each decision once, for the call that was shown to the person who decided. */
export function createResumedRun(
  { loop, sources }: { loop: JsonObject; sources: readonly Source[] },
  decided: readonly DecidedCall[],
): TrackedRun {
  let left = [...decided];
  let isTaken = false;
  /** Until calls start, the original checkpoint is still valid. */
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
    editedArguments(callId, args) {
      const text = JSON.stringify(args);
      const found = left.find(
        ({ call }) => (call.within ?? []).length === 0 && call.callId === callId && JSON.stringify(call.edited?.from) === text,
      );
      return found?.call.edited?.to;
    },
    putBack(decision) {
      left.push(decision);
    },
    unused: () => [...left],
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
