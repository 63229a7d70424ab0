import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** How often it is checked whether the process rests. */
const intervalMs = 3_000;
/** The process rests if it computes less than this part of the time; an idle gateway takes about a thousandth. */
const restingPart = 0.02;
/**
 * Checks in a row at which it has rested, a minute: the next burst needs the young generation again, and one that is too small has to copy what it would
 * otherwise drop. Loading the program is no burst, so the first rest is taken at once.
 */
const restingChecks = 20;
/** V8 begins with a young generation of one megabyte, and at most this much is left alone. */
const smallBytes = 2 * 1024 * 1024;

/**
 * Gives memory back that loading the program, or a crowd, has left: V8 lets the young generation of its heap grow to 16 MB and more, and shrinks it only
 * when it collects garbage, for which an idle process gives no occasion. That is an eighth of the memory of an idle gateway. Two collections
 * of the young generation take a millisecond each: the first shrinks it, the second frees its pages. `everyMs`: between two checks.
 */
export function shrinkAtRest(everyMs = intervalMs): void {
  let collect: ((options: { type: 'minor' }) => void) | undefined;
  let before = process.cpuUsage();
  let rested = restingChecks - 1;
  setInterval(() => {
    const { user, system } = process.cpuUsage(before);
    before = process.cpuUsage();
    const isResting = user + system <= restingPart * everyMs * 1_000;
    if (isResting) rested += 1;
    else if (collect !== undefined) rested = 0;
    if (!isResting || rested < restingChecks || youngBytes() <= smallBytes) return;
    collect ??= findCollector();
    collect({ type: 'minor' });
    collect({ type: 'minor' });
  }, everyMs).unref();
}

function youngBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? 0;
}

/** Node has no function for it. This one is defined in contexts that are created while the flag is set; the gateway's own does not get it. */
function findCollector(): (options: { type: 'minor' }) => void {
  setFlagsFromString('--expose-gc');
  try {
    return runInNewContext('gc') as (options: { type: 'minor' }) => void;
  } finally {
    setFlagsFromString('--no-expose-gc');
  }
}
