import { limits } from '../../../core/limits.ts';
import type { Toolset } from '../define/function-definition.ts';
import type { LoadedModule } from './load-module.ts';
import { asUserCode } from './user-code.ts';

/** A toolset that was set up. It is closed when it was replaced and nobody uses it any more. */
export interface ToolsetVersion {
  readonly toolset: Toolset;
  readonly module: LoadedModule;
  /** Keeps it open; gives the way to let go, which may be called twice. */
  hold(): () => void;
  /** Nobody new gets it. */
  retire(): void;
  /** Now, whoever uses it. */
  close(): Promise<void>;
}

/** @throws what `setup` throws, or Error when it takes too long */
export async function openToolset(toolset: Toolset, module: LoadedModule, onFault: (error: unknown) => void): Promise<ToolsetVersion> {
  await within(limits.toolsetSetupMs, 'setup', () => asUserCode(module.path, () => toolset.setup?.()));
  let holders = 0;
  let isRetired = false;
  let closing: Promise<void> | undefined;

  function close(): Promise<void> {
    closing ??= within(limits.toolsetCloseMs, 'close', () => asUserCode(module.path, () => toolset.close?.())).catch(onFault);
    return closing;
  }
  function closeIfIdle(): void {
    if (isRetired && holders === 0) void close();
  }
  return {
    toolset,
    module,
    hold() {
      holders += 1;
      let isHeld = true;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        holders -= 1;
        closeIfIdle();
      };
    },
    retire() {
      isRetired = true;
      closeIfIdle();
    },
    close,
  };
}

async function within(limitMs: number, what: string, work: () => unknown): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`${what} took more than ${limitMs / 1000} s`)), limitMs);
  try {
    await Promise.race([(async () => work())(), late]);
  } finally {
    clearTimeout(timer);
  }
}
