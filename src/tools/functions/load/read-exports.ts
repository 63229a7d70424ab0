import { limits } from '../../../core/limits.ts';
import { isFunctionTool, isToolset } from '../define/function-definition.ts';
import type { FunctionTool, Toolset } from '../define/function-definition.ts';

/** What a module in `tools_dir` offers. */
export interface ModuleOffer {
  /** Those that stand in no toolset of the module. */
  functions: FunctionTool[];
  toolsets: Toolset[];
}

/**
 * Default and named exports, lists of them included, for modules that make several. What is no function or toolset is the module's own business.
 * @throws Error when there is nothing, or too much
 */
export function readExports(exports: Readonly<Record<string, unknown>>): ModuleOffer {
  const values = Object.values(exports).flatMap((value): unknown[] => (Array.isArray(value) ? value : [value]));
  const found = [...new Set(values)];
  const toolsets = found.filter(isToolset);
  const bundled = new Set(toolsets.flatMap(({ tools }) => tools));
  const functions = found.filter(isFunctionTool).filter((tool) => !bundled.has(tool));
  const count = functions.length + bundled.size;
  if (count > limits.functionsPerModule)
    throw new Error(`it has ${count} functions, at most ${limits.functionsPerModule} are possible; make several modules`);
  if (functions.length === 0 && toolsets.length === 0)
    throw new Error(
      'it exports nothing that defineTool or defineToolset gave; a file that others only import has a name that begins with _',
    );
  return { functions, toolsets };
}
