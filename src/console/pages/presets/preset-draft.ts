import type { Preset } from '../../api/api-types.ts';
import { parseJson } from '../../parts/text/parse-json.ts';

/** A preset as it stands in the form; empty texts are what is not set. */
export interface PresetDraft {
  id: string;
  name: string;
  description: string;
  /** Empty: the first that there is. */
  model: string;
  system: string;
  tools: readonly string[] | undefined;
  agents: readonly string[];
  mode: string;
  maxRounds: string;
  /** Of one call. */
  timeoutSeconds: string;
  /** `some`: the functions of `approved`. */
  approval: 'unset' | 'all' | 'none' | 'some';
  /** Names of functions, a line each. */
  approved: string;
  /** JSON. */
  params: string;
}

/** Absent fields are those of a new preset. */
export function toDraft(preset: Partial<Preset>): PresetDraft {
  const { needs_approval: approval, params = {}, tool_timeout_ms: timeoutMs, max_tool_rounds: maxRounds } = preset;
  return {
    id: preset.id ?? '',
    name: preset.name ?? '',
    description: preset.description ?? '',
    model: preset.base_model ?? '',
    system: preset.system ?? '',
    tools: preset.tools ?? undefined,
    agents: preset.sub_agents ?? [],
    mode: preset.function_calling ?? '',
    maxRounds: String(maxRounds ?? ''),
    timeoutSeconds: timeoutMs === null || timeoutMs === undefined ? '' : String(timeoutMs / 1_000),
    approval: Array.isArray(approval) ? 'some' : approval === true ? 'all' : approval === false ? 'none' : 'unset',
    approved: Array.isArray(approval) ? approval.join('\n') : '',
    params: Object.keys(params).length === 0 ? '' : JSON.stringify(params, null, 2),
  };
}

/** What the gateway is asked to store; null removes. @throws Error for parameters that are no JSON object */
export function toFields(draft: PresetDraft): Omit<Preset, 'id' | 'object'> {
  const { name, description, model, system, tools, agents, mode, maxRounds, timeoutSeconds, params } = draft;
  return {
    name: name || null,
    description: description || null,
    base_model: model,
    system: system || null,
    tools: tools === undefined ? null : [...tools],
    sub_agents: [...agents],
    function_calling: mode || null,
    max_tool_rounds: maxRounds === '' ? null : Number(maxRounds),
    tool_timeout_ms: timeoutSeconds === '' ? null : Math.round(Number(timeoutSeconds) * 1_000),
    needs_approval: toApproval(draft),
    params: parseParams(params),
  };
}

function toApproval({ approval, approved }: PresetDraft): boolean | string[] | null {
  if (approval === 'unset') return null;
  if (approval !== 'some') return approval === 'all';
  return approved.split(/[\s,]+/).filter((name) => name !== '');
}

function parseParams(text: string): NonNullable<Preset['params']> {
  if (text.trim() === '') return {};
  try {
    const value: unknown = parseJson(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as NonNullable<Preset['params']>;
  } catch {
    // Said below.
  }
  throw new Error('The parameters have to be a JSON object, such as {"temperature": 0.2}.');
}
