import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { limits } from '../../core/limits.ts';
import { ConfigError } from './config-error.ts';
import type { ConfigFile } from './config-file.ts';

/** What the file says of the operator's own code. Paths are absolute; in the file they are relative to it. */
export interface ModuleSettings {
  readonly toolsDir: string | undefined;
  readonly toolsets: readonly {
    readonly id: string;
    readonly tools?: readonly string[];
    readonly isEnabled: boolean;
    readonly isDefault: boolean | undefined;
  }[];
  readonly hooks: readonly {
    readonly path: string;
    /** As it stands in the file. */
    readonly name: string;
    readonly timeoutMs: number;
    /** Undefined: as the module says. */
    readonly onFailure: 'ignore' | 'abort' | undefined;
  }[];
}

const toolsetSchema = z.strictObject({
  id: z.string().regex(/^[a-z0-9_-]{1,64}$/, 'consists of 1 to 64 small letters, digits, "_" and "-"'),
  tools: z.array(z.string()).max(limits.functionsPerModule).optional(),
  enable: z.boolean().default(true),
  default: z.boolean().optional(),
});
const hookSchema = z.union([
  z.string().transform((module) => ({ module, timeout_ms: undefined, on_failure: undefined })),
  z.strictObject({
    module: z.string(),
    timeout_ms: z.int().min(1).max(600_000).optional(),
    on_failure: z.enum(['ignore', 'abort']).optional(),
  }),
]);

const noModules: ModuleSettings = { toolsDir: undefined, toolsets: [], hooks: [] };

/** The sections `tools_dir`, `toolsets` and `hooks`. @throws ConfigError */
export function readModuleSections(file: ConfigFile | undefined): ModuleSettings {
  if (file === undefined) return noModules;
  const { tools_dir: toolsDir, toolsets, hooks } = file.entries;
  const from = (path: string): string => resolve(dirname(file.path), path);
  const folder = read(z.string().min(1).optional(), toolsDir ?? undefined, {
    name: 'tools_dir',
    file,
    cure: 'give it the path of a folder',
  });
  const sets = read(z.array(toolsetSchema).default([]), toolsets ?? undefined, {
    name: 'toolsets',
    file,
    cure: 'write a list such as [{id: home, tools: [get_weather]}]',
  });
  const modules = read(z.array(hookSchema).max(limits.hooks).default([]), hooks ?? undefined, {
    name: 'hooks',
    file,
    cure: 'write a list such as [{module: ./hooks/audit.js, timeout_ms: 2000, on_failure: ignore}]',
  });
  if (sets.some(({ tools }) => tools !== undefined) && folder === undefined)
    throw new ConfigError(
      `toolsets in ${file.path}: their tools come from tools_dir, which is not set; set it to the folder of your functions.`,
    );
  return {
    toolsDir: folder === undefined ? undefined : from(folder),
    // The last one of an id wins.
    toolsets: [...new Map(sets.map((set) => [set.id, set])).values()].map(({ id, tools, enable, default: isDefault }) => ({
      id,
      ...(tools !== undefined && { tools: tools.map((name) => name.replace(/^function:/, '')) }),
      isEnabled: enable,
      isDefault,
    })),
    hooks: modules.map(({ module, timeout_ms: timeoutMs, on_failure: onFailure }) => ({
      path: from(module),
      name: module,
      timeoutMs: timeoutMs ?? limits.hookMs,
      onFailure,
    })),
  };
}

function read<Value>(
  schema: z.ZodType<Value>,
  value: unknown,
  { name, file, cure }: { name: string; file: ConfigFile; cure: string },
): Value {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const place = issue === undefined || issue.path.length === 0 ? '' : `.${issue.path.map(String).join('.')}`;
  throw new ConfigError(`${name}${place} in ${file.path}: ${issue?.message ?? 'is not valid'}; ${cure}.`);
}
