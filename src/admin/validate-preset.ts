import { GatewayError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import type { ModelFinder } from '../core/model.ts';
import { plainRequest } from '../core/plain-request.ts';
import type { PresetBook, PresetRecord } from '../core/preset.ts';
import type { RunContext } from '../core/run.ts';
import type { ToolFinder } from '../core/tool.ts';

/** Entries of one preset that are looked at; who lists more lists servers' functions one by one, and is told of the first wrong ones. */
const maxEntries = 200;

/** Each answers with what is wrong with an id; undefined: nothing is. */
export interface PresetSurroundings {
  presets: Pick<PresetBook, 'list'>;
  whyNoModel(id: string): Promise<string | undefined>;
  whyNoTool(toolId: string): Promise<string | undefined>;
  /** Every name of what a preset offers; undefined where not all of it is known just now. */
  namesOffered?(preset: PresetRecord): Promise<ReadonlySet<string> | undefined>;
}

/**
 * What a preset names and nobody knows just now: its model, tools, sub-agents, and functions that should wait for approval. Nothing of it keeps the
 * preset from being saved, for models and servers come and go.
 */
export async function validatePreset(preset: PresetRecord, around: PresetSurroundings): Promise<string[]> {
  const known = new Set((await around.presets.list()).map(({ id }) => id));
  const model = known.has(preset.baseModel) ? undefined : await around.whyNoModel(preset.baseModel);
  const doubts = model === undefined ? [] : [`base_model: ${model}`];
  if (preset.baseModel === preset.id) doubts.push('base_model: is the preset itself, so that nothing answers. Name another model.');
  const unknownTools = new Set<string>();
  for (const toolId of (preset.tools ?? []).slice(0, maxEntries)) {
    const reason = await around.whyNoTool(toolId);
    if (reason === undefined) continue;
    unknownTools.add(toolId);
    doubts.push(reason.replace(/^(?:tool_ids: )?/, 'tools: '));
  }
  for (const id of preset.subAgents.filter((agent) => !known.has(agent)))
    doubts.push(`sub_agents: there is no preset "${id}", so nothing is handed over to it.`);
  const tools = preset.tools?.filter((toolId) => !unknownTools.has(toolId));
  return [...doubts, ...(await doubtsOfApproval({ ...preset, ...(tools && { tools }) }, { known, around }))];
}

/** A name that is spelt wrong protects nothing, and says nothing at the call. */
async function doubtsOfApproval(
  preset: PresetRecord,
  { known, around }: { known: ReadonlySet<string>; around: PresetSurroundings },
): Promise<string[]> {
  const { needsApproval, baseModel } = preset;
  // A preset on another one may have its tools from there.
  if (!Array.isArray(needsApproval) || known.has(baseModel)) return [];
  const offered = await around.namesOffered?.(preset);
  if (offered === undefined) return [];
  const unknown = needsApproval.filter((name) => !offered.has(name)).map((name) => JSON.stringify(name));
  return unknown.length === 0 ? [] : [`needs_approval: ${unknown.join(', ')} is no function that it offers: nothing waits for it.`];
}

export interface LiveParts {
  presets: PresetBook;
  models: Pick<ModelFinder, 'require'>;
  tools: Pick<ToolFinder, 'offerFor'>;
}

/** As a chat with the preset would find them. */
export function createPresetValidator({ presets, models, tools }: LiveParts): (preset: PresetRecord) => Promise<string[]> {
  return async (preset) => {
    const signal = AbortSignal.timeout(2 * limits.documentTimeoutMs);
    const caller = { id: 'examiner', role: 'admin', isOpen: true } as const;
    const run: RunContext = { runId: '', caller, chatId: undefined, messageId: undefined, sessionId: undefined, signal };
    const offerFor = (toolIds: string[] | undefined, within: RunContext) =>
      tools.offerFor(plainRequest({ model: '', messages: [], stream: false, ...(toolIds && { toolIds }) }), within);
    return validatePreset(preset, {
      presets,
      whyNoModel: (id) => problemOf(models.require(id, signal)),
      whyNoTool: (toolId) => problemOf(offerFor([toolId], run)),
      async namesOffered(known) {
        const offer = await offerFor(known.tools, { ...run, preset: known }).catch(() => undefined);
        if (offer === undefined || offer.warnings.length > 0) return undefined;
        const offered = [...offer.tools.values(), ...(offer.finder?.shelf.values() ?? [])];
        return new Set(offered.flatMap(({ spec, label, otherNames = [] }) => [spec.name, label, ...otherNames]));
      },
    });
  };
}

/** Only what was said for clients; that something takes too long or fails is no word on the id. */
async function problemOf(asked: Promise<unknown>): Promise<string | undefined> {
  try {
    await asked;
    return undefined;
  } catch (error) {
    const isWord = error instanceof GatewayError && (error.code === 'model_not_found' || error.code === 'unknown_tool_id');
    return isWord ? error.message.slice(0, 500) : undefined;
  }
}
