import { basename, extname } from 'node:path';
import type { Plugin } from 'rolldown';

/** In characters of source. */
const maxSmallModule = 10_000;

/**
 * Puts what a program imports at its start into few files: modules lie together that the same other programs and threads use. The bundler alone would
 * also separate what different imports on demand have in common, all of which the program has loaded by then, into twice as many files. No program and no
 * thread loads what it does not use, except for small modules that import nothing: these lie in one file.
 * @returns `nameOf`: of the chunk of a module; undefined: wherever the bundler puts it. It knows names once the bundler has read all modules
 */
export function chunksByProgram(program: string): { plugin: Plugin; nameOf: (moduleId: string) => string | undefined } {
  const names = new Map<string, string>();
  const plugin: Plugin = {
    name: 'chunks-by-program',
    buildEnd() {
      const withImports = (entry: string, isOnDemandToo: boolean): Set<string> => {
        const found = new Set([entry]);
        for (const id of found) {
          const { importedIds = [], dynamicallyImportedIds = [] } = this.getModuleInfo(id) ?? {};
          for (const imported of isOnDemandToo ? [...importedIds, ...dynamicallyImportedIds] : importedIds) found.add(imported);
        }
        return found;
      };
      const entries = new Set([...this.getModuleIds()].filter((id) => this.getModuleInfo(id)?.isEntry === true));
      const others = [...entries].filter((id) => id !== program).map((id) => withImports(id, true));
      const nameByUsers = new Map<string, string>();
      for (const id of withImports(program, false)) {
        const code = this.getModuleInfo(id)?.code;
        // Entries have files of their own; a module of Node's has no code.
        if (entries.has(id) || typeof code !== 'string') continue;
        const users = others.flatMap((used, index) => (used.has(id) ? [index] : [])).join();
        if (!nameByUsers.has(users)) nameByUsers.set(users, basename(id, extname(id)));
        const isSmall = withImports(id, true).size === 1 && code.length <= maxSmallModule;
        names.set(id, isSmall && !id.includes('node_modules') ? 'small-modules' : (nameByUsers.get(users) ?? ''));
      }
    },
  };
  return { plugin, nameOf: (moduleId) => names.get(moduleId) };
}
