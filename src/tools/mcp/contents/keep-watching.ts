import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '../../../core/errors.ts';
import type { ResourceWatcher } from '../../../core/tools/server-contents.ts';
import type { ConnectionWatcher } from '../resource-subscriptions.ts';

const firstPauseMs = 1_000;
const longestPauseMs = 60_000;

/** With these it may be there again later. */
const passing: ReadonlySet<string> = new Set(['upstream_unreachable', 'upstream_timeout']);

interface WatchedResource {
  /** @throws GatewayError if the caller may not read it any more */
  require: () => Promise<unknown>;
  /** Gives a function that ends it. @throws GatewayError */
  subscribe: (watcher: ConnectionWatcher) => Promise<() => void>;
}

/**
 * Subscribes to a resource, and again whenever the connection was lost: the server may have been restarted or changed. What it would have told meanwhile
 * is not known, so the watcher is told once.
 * @throws GatewayError if the first attempt fails, and the signal's reason
 */
export async function keepWatching(
  { require, subscribe }: WatchedResource,
  signal: AbortSignal,
  { onUpdated, onEnded }: ResourceWatcher,
): Promise<void> {
  let leave: () => void = () => undefined;
  let since = 0;
  let pauses = 0;

  function end(): void {
    leave();
    if (!signal.aborted) onEnded();
  }

  async function tell(): Promise<void> {
    try {
      await require();
    } catch {
      return end();
    }
    if (!signal.aborted) onUpdated();
  }

  async function begin(): Promise<void> {
    let [isOn, isLost] = [false, false];
    const onLost = (): void => {
      isLost = true;
      if (isOn) void continueLater();
    };
    leave = await subscribe({ onUpdated: () => void tell(), onLost });
    if (signal.aborted) leave();
    if (isLost) throw new GatewayError('upstream_unreachable', 'The MCP server has ended the subscription.');
    isOn = true;
    since = performance.now();
  }

  /** At once, unless the connection does not last. */
  async function continueLater(): Promise<void> {
    leave = () => undefined;
    if (performance.now() - since >= longestPauseMs) pauses = 0;
    for (; !signal.aborted; pauses += 1) {
      try {
        const pauseMs = pauses === 0 ? 0 : Math.min(firstPauseMs * 2 ** (pauses - 1), longestPauseMs);
        await sleep(pauseMs, undefined, { signal, ref: false });
        await begin();
        pauses += 1;
        return await tell();
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof GatewayError && passing.has(error.code))) return end();
      }
    }
  }

  signal.addEventListener('abort', () => leave(), { once: true });
  await begin();
}
