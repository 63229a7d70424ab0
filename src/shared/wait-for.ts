/** What the work gives within a time, in milliseconds; else what `giveUp` gives or throws. The work itself goes on. */
export async function waitAtMost<Value, Late = Value>(limitMs: number, work: Promise<Value>, giveUp: () => Late): Promise<Value | Late> {
  const { promise: late, resolve } = Promise.withResolvers<'late'>();
  const timer = setTimeout(resolve, limitMs, 'late');
  try {
    const first = await Promise.race([work.then((value) => ({ value })), late]);
    return first === 'late' ? giveUp() : first.value;
  } finally {
    clearTimeout(timer);
  }
}

/** What the work gives, unless the signal aborts first. The work itself goes on: others may wait for it too. @throws the signal's reason */
export async function waitUnlessAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const leave = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
