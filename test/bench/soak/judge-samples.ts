import type { Sample } from './take-sample.ts';

interface Verdict {
  what: string;
  said: string;
  isMet: boolean;
}

/** By then caches are filled and the code is compiled. A shorter run is judged by its second half. */
const warmMinutes = 10;
/** What two halves of the time may differ without a leak: V8 collects and compiles when it likes. */
const heapSlackMb = 3;
const residentSlack = 0.1;
/** The log of runs is bounded by number; everything else the traffic deletes again. */
const mostDatabaseMb = 128;
/** SQLite moves the log into the file at 4 MB, and a transaction may be larger. */
const mostLogMb = 16;
/** Connections to backends that are kept open. */
const moreDescriptors = 4;

export function judge({ start, samples, end }: { start: Sample; samples: readonly Sample[]; end: Sample }): Verdict[] {
  const last = samples.at(-1)?.minute ?? 0;
  const warm = samples.filter(({ minute }) => minute >= Math.min(warmMinutes, last / 2));
  const halves = [warm.slice(0, Math.floor(warm.length / 2)), warm.slice(Math.floor(warm.length / 2))];
  const of = (read: (sample: Sample) => number): [before: number, after: number] => {
    const [before = 0, after = 0] = halves.map((half) => half.map(read).reduce((sum, value) => sum + value, 0) / half.length);
    return [before, after];
  };
  const [heapBefore, heapAfter] = of(({ heapMb }) => heapMb);
  const [residentBefore, residentAfter] = of(({ residentMb }) => residentMb);
  const databaseMb = Math.max(...samples.map((sample) => sample.databaseMb));
  const logMb = Math.max(...samples.map((sample) => sample.logMb));
  const from = (warm[0]?.minute ?? 0).toFixed(1);
  return [
    {
      what: 'heap flat',
      said: `${heapBefore.toFixed(1)} then ${heapAfter.toFixed(1)} MB, in two halves from minute ${from}`,
      isMet: heapAfter <= heapBefore + heapSlackMb,
    },
    {
      what: 'resident memory flat',
      said: `${residentBefore.toFixed(0)} then ${residentAfter.toFixed(0)} MB`,
      isMet: residentAfter <= residentBefore * (1 + residentSlack),
    },
    {
      what: 'file descriptors back',
      said: `${start.descriptors ?? '-'} at first, ${end.descriptors ?? '-'} at the end`,
      isMet: (end.descriptors ?? 0) <= (start.descriptors ?? 0) + moreDescriptors,
    },
    {
      what: 'database bounded',
      said: `at most ${databaseMb.toFixed(1)} MB, its log ${logMb.toFixed(1)} MB`,
      isMet: databaseMb <= mostDatabaseMb && logMb <= mostLogMb,
    },
  ];
}
