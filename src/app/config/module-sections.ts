import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { limits } from '../../core/limits.ts';
import { ConfigError } from './config-error.ts';
import { readSection, type ConfigFile } from './config-file.ts';

/** Default time limit of a hook; every chat waits for it. */
const hookMs = 5_000;

/** Modules with the operator's code. Paths are absolute here, and relative to the file in the file. */
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
    /** The path as written in the file. */
    readonly name: string;
    readonly timeoutMs: number;
    /** Undefined: the module's own value applies. */
    readonly onFailure: 'ignore' | 'abort' | undefined;
  }[];
}

const toolsetSchema = z
  .strictObject({
    id: z.string().regex(/^[a-z0-9_-]{1,64}$/, 'must consist of 1 to 64 lowercase letters, digits, "_" and "-"'),
    tools: z.array(z.string()).max(limits.functionsPerModule).optional(),
    enable: z.boolean().default(true),
    default: z.boolean().optional(),
  })
  .transform(({ id, tools, enable: isEnabled, default: isDefault }) => ({
    id,
    ...(tools !== undefined && { tools: tools.map((name) => name.replace(/^function:/, '')) }),
    isEnabled,
    isDefault,
  }));

const hookSchema = z
  .union([
    z.string().transform((module) => ({ module, timeout_ms: undefined, on_failure: undefined })),
    z.strictObject({
      module: z.string(),
      timeout_ms: z.int().min(1).max(600_000).optional(),
      on_failure: z.enum(['ignore', 'abort']).optional(),
    }),
  ])
  .transform(({ module, timeout_ms: timeoutMs = hookMs, on_failure: onFailure }) => ({ module, timeoutMs, onFailure }));

/** The sections `tools_dir`, `toolsets` and `hooks`. @throws ConfigError */
export function readModuleSections(file: ConfigFile | undefined): ModuleSettings {
  const toAbsolute = (path: string): string => resolve(dirname(file?.path ?? ''), path);
  const folder = readSection(file, z.string().min(1).optional(), { name: 'tools_dir', cure: 'set it to the path of a folder' });
  const toolsets = readSection(file, z.array(toolsetSchema).default([]), {
    name: 'toolsets',
    cure: 'write a list such as [{id: home, tools: [get_weather]}]',
  });
  const hooks = readSection(file, z.array(hookSchema).max(limits.hooks).default([]), {
    name: 'hooks',
    cure: 'write a list such as [{module: ./hooks/audit.js, timeout_ms: 2000, on_failure: ignore}]',
  });
  if (toolsets.some(({ tools }) => tools !== undefined) && folder === undefined)
    throw new ConfigError(
      `toolsets in ${file?.path}: their tools come from tools_dir, which is not set; set it to the folder of your functions.`,
    );
  return {
    toolsDir: folder === undefined ? undefined : toAbsolute(folder),
    // The last toolset of an id wins.
    toolsets: [...new Map(toolsets.map((toolset) => [toolset.id, toolset])).values()],
    hooks: hooks.map(({ module, ...hook }) => ({ ...hook, path: toAbsolute(module), name: module })),
  };
}
