import { z } from 'zod';
import { describeSchemaIssue } from '../shared/describe-schema-issue.ts';
import { GatewayError } from '../core/errors.ts';
import { isDeeperThan, isJsonObject } from '../shared/json.ts';
import type { JsonObject } from '../shared/json.ts';
import { limits } from '../core/limits.ts';
import { modeNames } from '../core/mode-names.ts';
import type { PresetRecord } from '../core/preset.ts';
import { requireModelParams, withoutForeignParams } from './preset-params.ts';

const id = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/, 'must consist of at most 64 letters, digits and . _ : -');
const toolId = z.string().min(1).max(256);

const schema = z.strictObject({
  id,
  name: z.string().max(200).nullish(),
  description: z.string().max(2_000).nullish(),
  base_model: z.string().min(1).max(256),
  system: z.string().max(limits.presetSystemCharacters).nullish(),
  tools: z.array(toolId).max(1_000).nullish(),
  sub_agents: z.array(id).max(limits.subAgents).nullish(),
  params: z.custom<JsonObject>(isParams, `must be an object, nested at most ${limits.jsonDepth} levels deep`).nullish(),
  function_calling: z.string().max(64).nullish(),
  max_tool_rounds: z.number().int().positive().max(limits.maxToolRounds).nullish(),
  tool_timeout_ms: z.number().int().positive().max(2_147_483_647).nullish(),
  needs_approval: z.union([z.boolean(), z.array(z.string().max(256)).max(1_000)]).nullish(),
});

/** What is nested deeper cannot be walked later, and would fail every request of the preset. */
function isParams(value: unknown): boolean {
  return isJsonObject(value) && !isDeeperThan(value, limits.jsonDepth);
}

/** What a frontend may send along from an answer of ours. */
const shownOnly = ['origin', 'created', 'object', 'warnings'];

type Origin = Pick<PresetRecord, 'origin' | 'createdAt'>;

/** A preset as people write it. @throws GatewayError `invalid_request` that names the field, `unknown_mode` */
export function parsePreset(value: unknown, origin: Origin): PresetRecord {
  const preset = parseShape(value, origin);
  const { mode } = preset;
  if (mode !== undefined && !modeNames.some((name) => name === mode)) {
    const message = `function_calling: "${mode}" is no mode. Use one of: ${modeNames.join(', ')}.`;
    throw new GatewayError('unknown_mode', message, { param: 'function_calling' });
  }
  requireModelParams(preset.params);
  return preset;
}

/** A preset as it was stored. An older gateway took more; one wrong word must not cost all of them. @throws GatewayError `invalid_request` */
export function parseStoredPreset(value: unknown, origin: Origin): PresetRecord {
  const preset = parseShape(value, origin);
  return { ...preset, params: withoutForeignParams(preset.params) };
}

function parseShape(value: unknown, { origin, createdAt }: Origin): PresetRecord {
  if (!isJsonObject(value)) throw new GatewayError('invalid_request', 'A preset must be an object with id and base_model.');
  const parsed = schema.safeParse(Object.fromEntries(Object.entries(value).filter(([key]) => !shownOnly.includes(key))));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const param = issue?.path.join('.') ?? '';
    throw new GatewayError(
      'invalid_request',
      `${param === '' ? 'preset' : param}: ${describeSchemaIssue(issue)}`,
      param === '' ? {} : { param },
    );
  }
  const { data } = parsed;
  return {
    id: data.id,
    origin,
    createdAt,
    baseModel: data.base_model,
    subAgents: data.sub_agents ?? [],
    params: data.params ?? {},
    ...(data.name ? { name: data.name } : {}),
    ...(data.description ? { description: data.description } : {}),
    ...(data.system ? { system: data.system } : {}),
    ...(data.tools ? { tools: data.tools } : {}),
    ...(data.function_calling ? { mode: data.function_calling } : {}),
    ...(data.max_tool_rounds ? { maxToolRounds: data.max_tool_rounds } : {}),
    ...(data.tool_timeout_ms ? { toolTimeoutMs: data.tool_timeout_ms } : {}),
    ...(data.needs_approval === null || data.needs_approval === undefined ? {} : { needsApproval: data.needs_approval }),
  };
}

/** The shape that `parsePreset` takes; `null` where nothing is set. */
export function toPresetWire(preset: PresetRecord): JsonObject {
  return {
    id: preset.id,
    object: 'preset',
    origin: preset.origin,
    created: new Date(preset.createdAt).toISOString(),
    name: preset.name ?? null,
    description: preset.description ?? null,
    base_model: preset.baseModel,
    system: preset.system ?? null,
    tools: preset.tools ?? null,
    sub_agents: preset.subAgents,
    params: preset.params,
    function_calling: preset.mode ?? null,
    max_tool_rounds: preset.maxToolRounds ?? null,
    tool_timeout_ms: preset.toolTimeoutMs ?? null,
    needs_approval: preset.needsApproval ?? null,
  };
}
