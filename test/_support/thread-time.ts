/** Milliseconds of computing time in this thread since the given moment: what other processes do meanwhile does not count. */
export function threadMilliseconds(since = 0): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000 - since;
}
