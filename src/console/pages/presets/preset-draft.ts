import type { Preset } from '../../api/api-types.ts';
import { parseJson } from '../../parts/text/parse-json.ts';

/** A preset as it is edited in the form. Empty texts are unset fields. */
export interface PresetDraft {
  id: string;
  name: string;
  description: string;
  /** Empty: the first available model. */
  model: string;
  system: string;
  tools: readonly string[] | undefined;
  agents: readonly string[];
  mode: string;
  maxRounds: string;
  /** Per call. */
  timeoutSeconds: string;
  /** `some`: the functions in `approved`. */
  approval: 'unset' | 'all' | 'none' | 'some';
  /** Names of functions, one per line. */
  approved: string;
  /** JSON. */
  params: string;
}

/** Missing fields get the values of a new preset. */
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

/** The fields to store. Null removes a field. @throws Error if the parameters are not a JSON object */
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

/** Whether any of the folded fields is set. */
export function hasMore({ description, maxRounds, timeoutSeconds, params, approval, agents }: PresetDraft): boolean {
  return [description, maxRounds, timeoutSeconds, params].some((text) => text !== '') || approval !== 'unset' || agents.length > 0;
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
    // Reported below.
  }
  throw new Error('Model parameters must be a JSON object, such as {"temperature": 0.2}.');
}
