/**
 * Time between two reads of a key set. Whoever has a token of a key that is new waits at most as long, and a provider is asked at most as often,
 * however many tokens with invented keys are sent.
 */
const intervalMs = 2_000;
/** Of one key set, between two reads. */
const maxAbsentKeys = 1_000;
const maxKeyIdCharacters = 256;

interface KeySetReloads {
  /**
   * The key that `find` gives, after a new read of the key set if need be.
   * @throws what `find` throws if the key is still absent after that, and what a failed read throws
   */
  findKey<Key>(keyId: string | undefined, find: () => Promise<Key>): Promise<Key>;
}

interface KeySetReloadsOptions {
  reload: () => Promise<void>;
  /** Whether `find` says by this error that the set has no such key. */
  isAbsent: (error: unknown) => boolean;
  now: () => number;
  wait: (ms: number) => Promise<unknown>;
}

/** Reads a key set again for tokens that name a key it does not have, because the key may be new. Anybody can make up such tokens. */
export function createKeySetReloads({ reload, isAbsent, now, wait }: KeySetReloadsOptions): KeySetReloads {
  let readAt = -Infinity;
  let reads = 0;
  let next: Promise<void> | undefined;
  /** The keys that the latest read did not bring: their tokens do not wait for another one, until it may begin at once. */
  const absent = new Set<string>();

  const msToNext = (): number => Math.min(readAt + intervalMs - now(), intervalMs);

  async function read(): Promise<void> {
    const ms = msToNext();
    if (ms > 0) await wait(ms);
    readAt = now();
    reads += 1;
    absent.clear();
    await reload();
  }

  /** Shared by all who ask until it has ended. */
  function nextRead(): Promise<void> {
    next ??= read().finally(() => {
      next = undefined;
    });
    return next;
  }

  return {
    async findKey(keyId = '', find) {
      const readsBefore = reads;
      for (;;) {
        try {
          return await find();
        } catch (error) {
          if (!isAbsent(error)) throw error;
          if (reads > readsBefore && keyId.length <= maxKeyIdCharacters && absent.size < maxAbsentKeys) absent.add(keyId);
          if (reads > readsBefore || (absent.has(keyId) && msToNext() > 0)) throw error;
        }
        // A read that had begun before may have missed the key; then there is one more.
        await nextRead();
      }
    },
  };
}
