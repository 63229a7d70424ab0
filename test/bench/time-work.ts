const rounds = 3;

/** As the load is measured that the log is compared with. */
export function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** What one piece of work takes: the least of some rounds, because what disturbs a measurement only adds to it. */
export async function microsecondsOf(
  work: () => Promise<unknown>,
  times: number,
  { clock = () => performance.now(), atEnd }: { clock?: () => number; atEnd?: () => Promise<unknown> } = {},
): Promise<number> {
  const found: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const began = clock();
    for (let count = 0; count < times; count += 1) await work();
    await atEnd?.();
    found.push(((clock() - began) * 1_000) / times);
  }
  return Math.min(...found.slice(1));
}
