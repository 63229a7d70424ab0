import { z } from 'zod';
import { GatewayError } from '../core/errors.ts';
import { isDeeperThan, isJsonObject, type JsonObject } from '../shared/json/json.ts';
import { approvalsByName } from '../shared/text/name-pattern.ts';
import { longestTimerMs } from '../shared/async/timer-limits.ts';
import { limits } from '../core/limits.ts';
import { modeNames } from '../core/chat/mode-names.ts';
import type { PresetRecord } from '../core/stores/preset.ts';
import { filledFields, invalidAt, parseRecord } from './parse-record.ts';

/** Presets that one preset may hand over to; their names are in a function's schema. */
const subAgentsLimit = 32;

/** Some are skipped for a request that needs more than they have, and three attempts are all that a request gets. */
const fallbacksLimit = 8;

const id = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/, 'must consist of at most 64 letters, digits and . _ : -');
const toolId = z.string().min(1).max(256);
const modelId = z.string().min(1).max(256);

export const presetSchema = z.strictObject({
  id,
  name: z.string().max(200).nullish(),
  description: z.string().max(2_000).nullish(),
  base_model: modelId,
  fallbacks: z.array(modelId).max(fallbacksLimit).nullish(),
  system: z.string().max(limits.presetSystemCharacters).nullish(),
  tools: z.array(toolId).max(1_000).nullish(),
  sub_agents: z.array(id).max(subAgentsLimit).nullish(),
  params: z.custom<JsonObject>(isParams, `must be an object, nested at most ${limits.jsonDepth} levels deep`).nullish(),
  function_calling: z.string().max(64).nullish(),
  max_tool_rounds: z.number().int().positive().max(limits.maxToolRounds).nullish(),
  tool_timeout_ms: z.number().int().positive().max(longestTimerMs).nullish(),
  needs_approval: z
    .union([z.boolean(), z.array(z.string().max(256)).max(1_000)])
    .refine(approvalsByName.test, approvalsByName.problem)
    .nullish(),
});

/** Deeper nesting would fail later, in every request that uses the preset. */
function isParams(value: unknown): boolean {
  return isJsonObject(value) && !isDeeperThan(value, limits.jsonDepth);
}

/** Fields of responses, which a frontend may send back; they are ignored. */
const readOnlyFields = ['origin', 'created', 'object', 'warnings'];

/** Fields of a chat request that are not model parameters, each with what to do instead. */
const rejectedParams: ReadonlyMap<string, string> = new Map([
  ['function_calling', 'write function_calling beside params'],
  ['max_tool_rounds', 'write max_tool_rounds beside params'],
  ['tool_timeout_ms', 'write tool_timeout_ms beside params'],
  ['system', 'write system beside params'],
  ['tools', 'write tools beside params, with entries as in tool_ids'],
  ['tool_ids', 'write tools beside params'],
  ['model', 'write base_model beside params'],
  ['messages', 'write a role into system, beside params'],
  ['tool_choice', 'each request says it for itself'],
  ['stream', 'each request says it for itself'],
  ['store', 'each request says for itself whether it is stored'],
]);

type Origin = Pick<PresetRecord, 'origin' | 'createdAt'>;

/** Validates a preset from a request or the configuration file. @throws GatewayError `invalid_request`, which names the field, or `unknown_mode` */
export function parsePreset(value: unknown, origin: Origin): PresetRecord {
  const preset = toPreset(value, origin);
  const { mode, params } = preset;
  if (mode !== undefined && !modeNames.some((name) => name === mode)) {
    const message = `function_calling: "${mode}" is no mode. Use one of: ${modeNames.join(', ')}.`;
    throw new GatewayError('unknown_mode', message, { param: 'function_calling' });
  }
  const rejected = Object.keys(params).find((name) => rejectedParams.has(name));
  if (rejected === undefined) return preset;
  throw invalidAt(['params', rejected], `is no parameter of a model here; ${rejectedParams.get(rejected) ?? ''}.`);
}

/**
 * Reads a stored preset. Drops parameters that earlier releases accepted: one invalid preset would make all of them unreadable.
 * @throws GatewayError `invalid_request`
 */
export function parseStoredPreset(value: unknown, origin: Origin): PresetRecord {
  const preset = toPreset(value, origin);
  const params = Object.entries(preset.params).filter(([name]) => !rejectedParams.has(name));
  return { ...preset, params: Object.fromEntries(params) };
}

function toPreset(value: unknown, { origin, createdAt }: Origin): PresetRecord {
  if (!isJsonObject(value)) throw new GatewayError('invalid_request', 'A preset must be an object with id and base_model.');
  const data = parseRecord(presetSchema, Object.fromEntries(Object.entries(value).filter(([key]) => !readOnlyFields.includes(key))));
  return {
    id: data.id,
    origin,
    createdAt,
    baseModel: data.base_model,
    subAgents: data.sub_agents ?? [],
    params: data.params ?? {},
    ...filledFields({
      name: data.name,
      description: data.description,
      fallbacks: data.fallbacks,
      system: data.system,
      tools: data.tools,
      mode: data.function_calling,
      maxToolRounds: data.max_tool_rounds,
      toolTimeoutMs: data.tool_timeout_ms,
      needsApproval: data.needs_approval,
    }),
  };
}

/** The shape that `parsePreset` accepts, with `null` for what is not set. */
export function toPresetWire(preset: PresetRecord): JsonObject {
  const { id, origin, createdAt, baseModel, subAgents, params, name = null, description = null, system = null, tools = null } = preset;
  const { fallbacks = null, mode = null, maxToolRounds = null, toolTimeoutMs = null, needsApproval = null } = preset;
  return {
    id,
    object: 'preset',
    origin,
    created: new Date(createdAt).toISOString(),
    name,
    description,
    base_model: baseModel,
    fallbacks,
    system,
    tools,
    sub_agents: subAgents,
    params,
    function_calling: mode,
    max_tool_rounds: maxToolRounds,
    tool_timeout_ms: toolTimeoutMs,
    needs_approval: needsApproval,
  };
}
