import type { PresetRecord } from '../../core/stores/preset.ts';
import type { ToolServerRecord } from '../../core/stores/registry.ts';
import { ok, warning } from './finding.ts';
import type { Finding } from '../../core/finding.ts';
import { validatePreset } from '../../admin/validate-preset.ts';
import type { FunctionRegistry } from '../../tools/functions/load/function-registry.ts';

/** The names that the other examinations have found; undefined where these took too long, and then nothing is said about them. */
interface KnownNames {
  models: ReadonlySet<string> | undefined;
  toolServers: readonly ToolServerRecord[];
  functions: FunctionRegistry | undefined;
  /** The gateway's own, by their entries in `tool_ids`. */
  ownTools: readonly string[];
}

/** Whether everything that each preset names exists. Checks names only, without requesting tool servers. */
export async function examinePresets(presets: readonly PresetRecord[], known: KnownNames): Promise<Finding[]> {
  const around = {
    presets: { list: async () => [...presets] },
    whyNoModel: async (id: string) =>
      (known.models?.has(id) ?? true) || known.models?.has(`${id}:latest`) === true ? undefined : `no backend lists "${id}" at the moment`,
    whyNoTool: async (toolId: string) => (isKnown(toolId, presets, known) ? undefined : `"${toolId}" is not known`),
  };
  const findings = await Promise.all(
    presets.map(async (preset): Promise<Finding[]> => {
      const problems = await validatePreset(preset, around);
      const entry = preset.origin === 'file' ? 'its entry below `models`' : `PATCH /api/presets/${preset.id}`;
      if (problems.length === 0) return [ok(`${preset.id}: on ${preset.baseModel}`)];
      return problems.map((problem) => warning(`${preset.id}: ${problem}`, `Correct it: ${entry}.`));
    }),
  );
  return findings.flat();
}

function isKnown(toolId: string, presets: readonly PresetRecord[], { toolServers, functions, ownTools }: KnownNames): boolean {
  if (ownTools.includes(toolId)) return true;
  const { kind, rest = '' } = /^(?<kind>server|function|toolset|preset):(?<rest>.+)$/.exec(toolId)?.groups ?? {};
  const [head = '', member] = rest.replace(/^(?:openapi|mcp):/, '').split('/');
  switch (kind) {
    case 'server':
      return toolServers.some(({ id }) => id === head);
    case 'function':
      return functions?.functions.some(({ id, definition }) => id === toolId || definition.name === rest) ?? true;
    case 'toolset':
      if (functions === undefined) return true;
      if (member === undefined) return functions.toolsets.has(head);
      return functions.functions.some(({ toolsets, definition }) => toolsets.has(head) && definition.name === member);
    case 'preset':
      return presets.some(({ id }) => id === rest);
    case undefined:
    default:
      // Other forms are validated where they are used.
      return true;
  }
}
