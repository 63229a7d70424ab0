/** The result of `work` within `limitMs`; otherwise the result or exception of `giveUp`. The work itself continues. */
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

/** The result of `work`, unless the signal aborts first. The work itself continues, because others may wait for it too. @throws the signal's reason */
export async function waitUnlessAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
