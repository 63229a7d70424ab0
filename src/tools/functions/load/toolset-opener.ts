import { limits } from '../../../core/limits.ts';
import type { Toolset } from '../define/function-definition.ts';
import type { LoadedModule } from './load-module.ts';
import { openToolset } from './toolset-version.ts';
import type { ToolsetVersion } from './toolset-version.ts';

/** Sets toolsets up. One that takes its time holds up nobody: it is asked for again when it is ready. */
export interface ToolsetOpener {
  /** Undefined: it is still being set up. @throws what `setup` throws, or Error when it takes too long */
  open(toolset: Toolset, module: LoadedModule): Promise<ToolsetVersion | undefined>;
  /** Closes what is set up for nobody any more, as soon as it is ready. */
  keepOnly(wanted: ReadonlySet<Toolset>): void;
}

export interface ToolsetOpenerOptions {
  /** Told when one that took its time is ready or has failed. */
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
      const { promise: late, resolve: giveUp } = Promise.withResolvers<undefined>();
      // Whoever has waited for it once does not wait again.
      if (known !== undefined) giveUp(undefined);
      const timer = setTimeout(giveUp, limits.modulePatienceMs, undefined);
      let isOver = true;
      try {
        const version = await Promise.race([opening, late]);
        isOver = version !== undefined;
        return version;
      } finally {
        clearTimeout(timer);
        if (isOver) openings.delete(toolset);
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
