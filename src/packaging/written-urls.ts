import { readFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import type { Plugin } from 'rolldown';

const moduleUrl = /new URL\(\s*'(?<path>\.[^']+\.\w+)',\s*import\.meta\.url,?\s*\)/g;
const packageUrl = /import\.meta\.resolve\(\s*'(?<name>[^']+)',?\s*\)/g;

/**
 * Lets a bundle hold what the sources name by a URL instead of an import: `new URL('./job.ts', import.meta.url)` becomes an entry of its own,
 * named after its path below the sources, for threads and for modules of operators, as does `import.meta.resolve('zod')`. Files that are no TypeScript are copied as they are.
 */
export function writtenUrls(sources: string, nameOf: (path: string) => string = (path) => path): Plugin {
  return {
    name: 'written-urls',
    transform: {
      filter: { id: /\.ts$/, code: /import\.meta\.(?:url|resolve)/ },
      handler(code, id) {
        if (!id.startsWith(sources)) return undefined;
        const addModule = (file: string): string => {
          const name = nameOf(relative(sources, file).replace(/\.ts$/, ''));
          if (file.endsWith('.ts')) return this.emitFile({ type: 'chunk', id: file, name });
          return this.emitFile({ type: 'asset', source: readFileSync(file), fileName: relative(sources, file) });
        };
        const addPackage = (specifier: string): string => this.emitFile({ type: 'chunk', id: specifier, importer: id, name: specifier });
        return {
          code: code
            .replaceAll(moduleUrl, (_written, path: string) => `new URL(import.meta.ROLLUP_FILE_URL_${addModule(resolve(id, '..', path))})`)
            .replaceAll(packageUrl, (_written, name: string) => `import.meta.ROLLUP_FILE_URL_${addPackage(name)}`),
          // Nothing moves to another line.
          map: null,
        };
      },
    },
  };
}
