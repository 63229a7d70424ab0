import { GatewayError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import type { ModelFinder } from '../core/models/model.ts';
import { plainRequest } from '../core/chat/plain-request.ts';
import type { PresetFinder, PresetRecord } from '../core/stores/preset.ts';
import type { RunContext } from '../core/runs/run.ts';
import type { ToolFinder } from '../core/tools/tool.ts';

/** Entries of one preset that are checked; in a longer list the first problems are enough. */
const maxEntries = 200;

/** What a preset is checked against. `whyNoModel` and `whyNoTool` return the problem with an id; undefined: none. */
interface PresetContext {
  presets: Pick<PresetFinder, 'list'>;
  whyNoModel(id: string): Promise<string | undefined>;
  whyNoTool(toolId: string): Promise<string | undefined>;
  /** All names of the functions that a preset offers; undefined if not all are known at the moment. */
  namesOffered?(preset: PresetRecord): Promise<ReadonlySet<string> | undefined>;
}

/**
 * Lists what a preset names and does not exist at the moment: models, tools, sub-agents, and functions that need approval. These are only warnings,
 * because models and servers come and go.
 */
export async function validatePreset(preset: PresetRecord, context: PresetContext): Promise<string[]> {
  const known = new Set((await context.presets.list()).map(({ id }) => id));
  const model = known.has(preset.baseModel) ? undefined : await context.whyNoModel(preset.baseModel);
  const problems = model === undefined ? [] : [`base_model: ${model}`];
  if (preset.baseModel === preset.id) problems.push('base_model: is the preset itself, so nothing would answer. Name another model.');
  for (const id of preset.fallbacks ?? []) {
    const missing = known.has(id) ? undefined : await context.whyNoModel(id);
    if (missing !== undefined) problems.push(`fallbacks: ${missing}`);
  }
  const unknownTools = new Set<string>();
  for (const toolId of (preset.tools ?? []).slice(0, maxEntries)) {
    const reason = await context.whyNoTool(toolId);
    if (reason === undefined) continue;
    unknownTools.add(toolId);
    problems.push(reason.replace(/^(?:tool_ids: )?/, 'tools: '));
  }
  for (const id of preset.subAgents.filter((agent) => !known.has(agent)))
    problems.push(`sub_agents: there is no preset "${id}", so no chat can be handed off to it.`);
  const tools = preset.tools?.filter((toolId) => !unknownTools.has(toolId));
  return [...problems, ...(await approvalProblems({ ...preset, ...(tools && { tools }) }, { known, context }))];
}

/** A misspelled name would silently protect nothing. */
async function approvalProblems(
  preset: PresetRecord,
  { known, context }: { known: ReadonlySet<string>; context: PresetContext },
): Promise<string[]> {
  const { needsApproval, baseModel } = preset;
  // A preset that is based on another one may have its tools from there.
  if (!Array.isArray(needsApproval) || known.has(baseModel)) return [];
  const offered = await context.namesOffered?.(preset);
  if (offered === undefined) return [];
  const unknown = needsApproval.filter((name) => !offered.has(name)).map((name) => JSON.stringify(name));
  return unknown.length === 0
    ? []
    : [`needs_approval: ${unknown.join(', ')} is not a function that the preset offers, so it has no effect.`];
}

interface LiveParts {
  presets: PresetFinder;
  models: Pick<ModelFinder, 'require'>;
  tools: Pick<ToolFinder, 'offerFor'>;
}

/** Checks a preset against what a chat with it would find. */
export function createPresetValidator({ presets, models, tools }: LiveParts): (preset: PresetRecord) => Promise<string[]> {
  return async (preset) => {
    const signal = AbortSignal.timeout(2 * limits.documentTimeoutMs);
    const caller = { id: 'validator', role: 'admin', isOpen: true } as const;
    const run: RunContext = { runId: '', caller, chatId: undefined, messageId: undefined, sessionId: undefined, signal };
    const offerFor = async (toolIds: string[] | undefined, within: RunContext) =>
      tools.offerFor(plainRequest({ model: '', messages: [], stream: false, ...(toolIds && { toolIds }) }), within);
    return validatePreset(preset, {
      presets,
      whyNoModel: (id) => problemOf(() => models.require(id, signal)),
      whyNoTool: (toolId) => problemOf(() => offerFor([toolId], run)),
      async namesOffered(known) {
        const offer = await offerFor(known.tools, { ...run, preset: known }).catch(() => undefined);
        if (offer === undefined || offer.warnings.length > 0) return undefined;
        const offered = [...offer.tools.values(), ...(offer.finder?.deferred.values() ?? [])];
        return new Set(offered.flatMap(({ spec, label, otherNames = [] }) => [spec.name, label, ...otherNames]));
      },
    });
  };
}

/** Only errors about the id itself; a slow or failing server says nothing about it. */
async function problemOf(lookUp: () => unknown): Promise<string | undefined> {
  try {
    await lookUp();
    return undefined;
  } catch (error) {
    const isAboutId = error instanceof GatewayError && (error.code === 'model_not_found' || error.code === 'unknown_tool_id');
    return isAboutId ? error.message.slice(0, 500) : undefined;
  }
}
