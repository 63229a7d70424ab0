/** The longest stop of the event loop, in computing time of the main thread, which other processes of the machine do not change. */
export interface StopWatch {
  /** Since the last call, or since the beginning. */
  takeLongestMs(): number;
  end(): void;
}

/** A timer is due after every millisecond, so between two of its calls lies one turn of the loop, and at most one millisecond of others. */
export function watchStops(): StopWatch {
  let longestMs = 0;
  let before = cpuMs();
  const note = (): void => {
    const now = cpuMs();
    longestMs = Math.max(longestMs, now - before);
    before = now;
  };
  const timer = setInterval(note, 1).unref();
  return {
    takeLongestMs() {
      note();
      const taken = longestMs;
      longestMs = 0;
      before = cpuMs();
      return taken;
    },
    end: () => clearInterval(timer),
  };
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
