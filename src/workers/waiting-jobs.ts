import { groupOf } from '../shared/fairness/fair-shares.ts';

/** Too many jobs wait for a thread: those of this caller, or all together. */
export class TooManyWaiting extends Error {
  override readonly name = 'TooManyWaiting';
}

export interface WaitingLimits {
  perCaller: number;
  /** Of all callers together. */
  total: number;
  /** Jobs of one key that may run at the same time. */
  runningPerKey: number;
}

interface Share {
  running: number;
  /** The number of the last start: the share with the lowest one is served next. */
  servedAt: number;
}

interface CallerShare<Job> extends Share {
  waiting: Job[];
}

interface KeyShare<Job> extends Share {
  /** The callers of one key, by their ids. Callers without jobs are removed. */
  callers: Map<string, CallerShare<Job>>;
}

/** Jobs that wait for a thread. Fair among keys, and among the people of each key: whoever was served longest ago is next. */
export class WaitingJobs<Job extends { caller: string }> {
  readonly #keys = new Map<string, KeyShare<Job>>();
  readonly #limits: WaitingLimits;
  readonly #evict: (job: Job, reason: TooManyWaiting) => void;
  #waiting = 0;
  #served = 0;

  /** @param evict is called with a waiting job that has to make room; the job is no longer in the queue. */
  constructor(limits: WaitingLimits, evict: (job: Job, reason: TooManyWaiting) => void) {
    this.#limits = limits;
    this.#evict = evict;
  }

  /** @throws TooManyWaiting */
  add(job: Job): void {
    const { caller } = job;
    const key = this.#keys.get(groupOf(caller)) ?? { callers: new Map<string, CallerShare<Job>>(), running: 0, servedAt: 0 };
    const share = key.callers.get(caller) ?? { waiting: [], running: 0, servedAt: 0 };
    if (share.waiting.length >= this.#limits.perCaller) {
      throw new TooManyWaiting('Too much work of this caller is waiting; try again later.');
    }
    if (this.#waiting >= this.#limits.total) this.#makeRoom(waitingOf(key));
    this.#keys.set(groupOf(caller), key);
    key.callers.set(caller, share);
    share.waiting.push(job);
    this.#waiting += 1;
  }

  /** Takes the next job, which counts as running until `finish`. */
  take(): Job | undefined {
    const key = servedLongestAgo(this.#keys.values(), (one) => waitingOf(one) > 0 && one.running < this.#limits.runningPerKey);
    const share = key && servedLongestAgo(key.callers.values(), (one) => one.waiting.length > 0);
    const job = share?.waiting.shift();
    if (key === undefined || share === undefined || job === undefined) return undefined;
    this.#waiting -= 1;
    this.#served += 1;
    for (const one of [key, share]) {
      one.running += 1;
      one.servedAt = this.#served;
    }
    return job;
  }

  finish({ caller }: Job): void {
    const key = this.#keys.get(groupOf(caller));
    const share = key?.callers.get(caller);
    if (key === undefined || share === undefined) return;
    key.running -= 1;
    share.running -= 1;
    this.#removeIdle(caller);
  }

  /** False if the job is not waiting. */
  remove(job: Job): boolean {
    const queue = this.#keys.get(groupOf(job.caller))?.callers.get(job.caller)?.waiting ?? [];
    const index = queue.indexOf(job);
    if (index === -1) return false;
    queue.splice(index, 1);
    this.#waiting -= 1;
    this.#removeIdle(job.caller);
    return true;
  }

  /** Evicts the newest job of the heaviest caller of the heaviest key. @throws TooManyWaiting if no key has more jobs than the one that adds to its `own` */
  #makeRoom(own: number): void {
    const crowded = new TooManyWaiting('Too much work of all callers is waiting; try again later.');
    const heaviest = [...this.#keys.values()].reduce((most, next) => (waitingOf(next) > waitingOf(most) ? next : most));
    if (waitingOf(heaviest) <= own + 1) throw crowded;
    const callers = [...heaviest.callers.values()];
    const { waiting } = callers.reduce((most, next) => (next.waiting.length > most.waiting.length ? next : most));
    const newest = waiting.at(-1);
    if (newest !== undefined && this.remove(newest)) this.#evict(newest, crowded);
  }

  #removeIdle(caller: string): void {
    const key = this.#keys.get(groupOf(caller));
    const share = key?.callers.get(caller);
    if (key === undefined || share === undefined || share.waiting.length > 0 || share.running > 0) return;
    key.callers.delete(caller);
    if (key.callers.size === 0) this.#keys.delete(groupOf(caller));
  }
}

function servedLongestAgo<One extends Share>(shares: Iterable<One>, isEligible: (share: One) => boolean): One | undefined {
  let next: One | undefined;
  for (const share of shares) if (isEligible(share) && (next === undefined || share.servedAt < next.servedAt)) next = share;
  return next;
}

function waitingOf<Job>({ callers }: KeyShare<Job>): number {
  let sum = 0;
  for (const { waiting } of callers.values()) sum += waiting.length;
  return sum;
}
