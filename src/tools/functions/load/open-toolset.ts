import { waitAtMost } from '../../../shared/async/wait-for.ts';
import type { Toolset } from '../define/function-definition.ts';
import type { LoadedModule } from './load-module.ts';
import { asUserCode } from './user-code.ts';
import { modulePatienceMs } from './read-folder.ts';

/** `setup` of a toolset, such as opening a connection. */
const toolsetSetupMs = 30_000;
/** `close` of a toolset; after it the toolset counts as closed in any case. */
const toolsetCloseMs = 5_000;

/** A toolset after its `setup`. It is closed when it has been replaced and nothing uses it any more. */
export interface ToolsetVersion {
  readonly toolset: Toolset;
  readonly module: LoadedModule;
  /** Keeps the toolset open. Returns a function that releases it; further calls of that have no effect. */
  hold(): () => void;
  /** Closes the toolset once nothing uses it: it has been replaced, and no new run gets it. */
  retire(): void;
  /** Closes it at once, even if it is in use. */
  close(): Promise<void>;
}

/** Sets toolsets up. A slow `setup` delays nothing: `onReady` says when to open its toolset again. */
interface ToolsetOpener {
  /** Undefined: `setup` is still running. @throws what `setup` throws, or Error when it takes too long */
  open(toolset: Toolset, module: LoadedModule): Promise<ToolsetVersion | undefined>;
  /** Closes toolsets that are still being set up and are not wanted any more, as soon as they are ready. */
  keepOnly(wanted: ReadonlySet<Toolset>): void;
}

interface ToolsetOpenerOptions {
  /** A slow `setup` has finished or failed. */
  onReady: () => void;
  onCloseFault: (toolset: Toolset, error: unknown) => void;
}

export function createToolsetOpener({ onReady, onCloseFault }: ToolsetOpenerOptions): ToolsetOpener {
  const openings = new Map<Toolset, Promise<ToolsetVersion>>();

  return {
    async open(toolset, module) {
      const known = openings.get(toolset);
      const opening = known ?? openToolset(toolset, module, (error) => onCloseFault(toolset, error));
      openings.set(toolset, opening);
      let isSettled = true;
      try {
        // Only the first call waits; later ones just look whether `setup` has finished.
        const version = await (known === undefined
          ? waitAtMost(modulePatienceMs, opening, () => undefined)
          : Promise.race([known, Promise.resolve(undefined)]));
        isSettled = version !== undefined;
        return version;
      } finally {
        if (isSettled) openings.delete(toolset);
        else if (known === undefined) void opening.catch(() => undefined).then(onReady);
      }
    },
    keepOnly(wanted) {
      for (const [toolset, opening] of openings) {
        if (wanted.has(toolset)) continue;
        openings.delete(toolset);
        void opening.then((version) => version.retire()).catch(() => undefined);
      }
    },
  };
}

/** @throws what `setup` throws, or Error when it takes too long */
async function openToolset(toolset: Toolset, module: LoadedModule, onFault: (error: unknown) => void): Promise<ToolsetVersion> {
  async function call(method: 'setup' | 'close', limitMs: number): Promise<void> {
    const work = (async () => asUserCode(module.path, () => toolset[method]?.()))();
    await waitAtMost(limitMs, work, () => {
      throw new Error(`${method} took more than ${limitMs / 1000} s`);
    });
  }
  await call('setup', toolsetSetupMs);
  const users = new Set<symbol>();
  let isRetired = false;
  let closing: Promise<void> | undefined;

  function close(): Promise<void> {
    closing ??= call('close', toolsetCloseMs).catch(onFault);
    return closing;
  }
  function closeIfUnused(): void {
    if (isRetired && users.size === 0) void close();
  }
  return {
    toolset,
    module,
    hold() {
      const user = Symbol(toolset.id);
      users.add(user);
      return () => {
        if (users.delete(user)) closeIfUnused();
      };
    },
    retire() {
      isRetired = true;
      closeIfUnused();
    },
    close,
  };
}
