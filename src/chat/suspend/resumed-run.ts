import type { DecidedCall, ResumedRun } from '../../core/suspended-run.ts';
import type { Source } from '../../core/chat.ts';
import type { JsonObject } from '../../shared/json.ts';

export interface WhatItWas {
  loop: JsonObject;
  sources: readonly Source[];
}

export interface TrackedRun extends ResumedRun {
  /** What it would go on with if it failed now, and the decisions for that; undefined amid its calls. */
  place(): { loop: JsonObject; left: DecidedCall[] } | undefined;
}

/** What a run that goes on is given: its loop once, and each decision once, to the call that was shown. */
export function createResumedRun({ loop, sources }: WhatItWas, decided: readonly DecidedCall[]): TrackedRun {
  let left = [...decided];
  let isTaken = false;
  /** Until calls begin, all of it is still to be done. */
  let hasBegun = false;
  let standing: (() => JsonObject) | undefined;

  return {
    take() {
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
    takeWithin(place) {
      const isWithin = ({ call }: DecidedCall): boolean => call.within?.[0]?.place === place;
      const taken = left.filter(isWithin);
      left = left.filter((each) => !isWithin(each));
      return taken.map(({ call, answer }) => ({ call: { ...call, within: call.within?.slice(1) ?? [] }, answer }));
    },
    standsAt(at) {
      hasBegun = true;
      standing = at;
    },
    place() {
      if (!hasBegun) return { loop, left: [...decided] };
      return standing === undefined ? undefined : { loop: standing(), left: [] };
    },
  };
}
