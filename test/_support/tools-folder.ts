import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { constants, Script } from 'node:vm';
import type { ImportModule } from '../../src/tools/functions/load/load-module.ts';

/** Node's own import: the test runner's stands in the way of what resolves `toolwharf`. */
export const importNatively = new Script('(url) => import(url)', {
  importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
}).runInThisContext() as ImportModule;

export interface ToolsFolder {
  path: string;
  write(files: Record<string, string>): void;
  remove(name: string): void;
  [Symbol.dispose](): void;
}

/** A folder of modules outside the project. */
export function toolsFolder(files: Record<string, string> = {}): ToolsFolder {
  const path = mkdtempSync(join(tmpdir(), 'toolwharf-tools-'));
  const folder: ToolsFolder = {
    path,
    write(more) {
      for (const [name, text] of Object.entries(more)) {
        mkdirSync(dirname(join(path, name)), { recursive: true });
        writeFileSync(join(path, name), text);
      }
    },
    remove: (name) => rmSync(join(path, name)),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
  folder.write(files);
  return folder;
}

/** A module with one function; `more` are further options as source text. */
export function functionModule(name: string, { execute = '() => "done"', parameters = 'z.object({})', more = '' } = {}): string {
  return `import { defineTool, ToolError, noReply, handoff } from 'toolwharf';
import { z } from 'zod';
export default defineTool({ name: '${name}', description: 'Does ${name}', parameters: ${parameters}, execute: ${execute}, ${more} });
`;
}
