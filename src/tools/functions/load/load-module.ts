import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { limits } from '../../../core/limits.ts';
import { beginLoad } from './module-hooks.ts';
import { asUserCode } from './user-code.ts';

/** Imports a module by its address. Replaced where another loader stands in the way of Node's. */
export type ImportModule = (url: string) => Promise<unknown>;

export const importModule: ImportModule = (url) => import(url);

export interface LoadedModule {
  path: string;
  exports: Readonly<Record<string, unknown>>;
  /** Text of every file that belongs to it, by path. */
  sources: ReadonlyMap<string, string>;
}

/** Its top level waits for something: to load it once more would hold up every other module again. */
export class SlowModuleError extends Error {}

/**
 * Imports a module anew with everything below `folder` that it imports. What was loaded before stays in memory, as modules do.
 * @throws Error with the file, the place and the reason
 */
export async function loadModule(
  path: string,
  { folder = dirname(path), load = importModule }: { folder?: string; load?: ImportModule } = {},
): Promise<LoadedModule> {
  const sources = new Map<string, string>();
  const { url, end } = beginLoad(path, { folder, sources });
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new SlowModuleError(`it took more than ${limits.moduleLoadMs / 1000} s to load; do less at its top level`)),
    limits.moduleLoadMs,
  );
  try {
    const exports = (await Promise.race([asUserCode(path, () => load(url)), late])) as Record<string, unknown>;
    return { path, exports: { ...exports }, sources };
  } catch (error) {
    throw new Error(explained(error, path), { cause: error });
  } finally {
    clearTimeout(timer);
    end();
  }
}

/** Node says where a syntax error is for TypeScript, in the stack; of JavaScript it knows the file alone. */
function explained(error: unknown, path: string): string {
  if (!(error instanceof Error)) return `${path}: ${String(error)}`;
  const message = (error.message.split('\n')[0] ?? '').replaceAll(/\?toolwharf-load=\d+/g, '');
  const place = error instanceof SyntaxError ? /^(?<url>file:\/\/[^\n]*?):(?<line>\d+)\n/.exec(error.stack ?? '')?.groups : undefined;
  if (place?.['url'] === undefined) return `${path}: ${message}`;
  const file = fileURLToPath(place['url']);
  // What it imports may be what is broken.
  return file === path ? `${path}:${place['line']}: ${message}` : `${path}: ${file}:${place['line']}: ${message}`;
}
