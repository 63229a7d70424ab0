import { isModelAllowed, type Caller } from '../../core/callers/caller.ts';
import type { PresetFinder, PresetRecord } from '../../core/stores/preset.ts';
import type { RunContext } from '../../core/runs/run.ts';
import type { RunSubAgent, Tool, ToolSpec } from '../../core/tools/tool.ts';
import { legalName } from '../definitions/name-functions.ts';
import { leftOutWarning, type Candidate, type SuppliedFunctions, type ToolSource, type Warning } from '../definitions/tool-source.ts';
import type { MaybePromise } from '../../shared/async/maybe-promise.ts';
import { forbiddenToolId, unknownToolId } from '../definitions/tool-ids.ts';
import { trustSchema } from '../../validation/trusted-schemas.ts';

const prefix = 'preset:';

/**
 * Presets as tools: each has the single parameter `request`, and answers as it would answer a chat. A preset with sub-agents gets `transfer_to_agent`
 * without listing it.
 */
export function createPresetTools({ presets, runSubAgent }: { presets: PresetFinder; runSubAgent: RunSubAgent }): ToolSource {
  function supplyFor(toolIds: readonly string[] | undefined, run: RunContext): MaybePromise<SuppliedFunctions> {
    const hasNone = toolIds === undefined && run.preset === undefined;
    return hasNone ? { candidates: [], warnings: [] } : supply(toolIds, run);
  }

  async function supply(toolIds: readonly string[] | undefined, run: RunContext): Promise<SuppliedFunctions> {
    const transfer = await transferOf(run);
    if (toolIds === undefined) return { candidates: transfer, warnings: [] };
    const known = await presets.list();
    const wanted: PresetRecord[] = [];
    const warnings: Warning[] = [];
    for (const toolId of toolIds) {
      const isListed = run.preset?.tools?.includes(toolId) === true;
      const isAllowed = isModelAllowed(run.caller, toolId.slice(prefix.length));
      if (isListed && !isAllowed) warnings.push(forbiddenModel(toolId));
      else if (!isAllowed || !(isListed || mayUse(toolId, run.caller))) throw forbiddenToolId(toolId);
      else {
        const ids = known.map(({ id }) => `${prefix}${id}`);
        const preset = known[ids.indexOf(toolId)];
        if (preset === undefined) throw unknownToolId(toolId, 'Known presets', ids);
        wanted.push(preset);
      }
    }
    const asTools = [...new Set(wanted)].map((preset): Candidate => ({ ...listedCandidate(preset), isNamed: true }));
    return { candidates: [...asTools, ...transfer], warnings };
  }

  async function transferOf({ preset, caller }: RunContext): Promise<Candidate[]> {
    if (preset === undefined || preset.subAgents.length === 0) return [];
    const known = await presets.list();
    const agents = preset.subAgents.flatMap((id) => known.find((other) => other.id === id && isModelAllowed(caller, id)) ?? []);
    return agents.length === 0
      ? []
      : [{ wanted: 'transfer_to_agent', key: 'transfer_to_agent', isNamed: true, toTool: (name) => transferTool(name, agents) }];
  }

  /** The same object for the same preset, so that lists and indexes with it can be kept. */
  const listed = new WeakMap<PresetRecord, Candidate>();
  function listedCandidate(preset: PresetRecord): Candidate {
    const candidate = listed.get(preset) ?? candidateOf(preset, runSubAgent);
    listed.set(preset, candidate);
    return candidate;
  }

  return {
    claims: (toolId) => toolId.startsWith(prefix) && toolId !== prefix,
    supplyFor,
    async list(caller) {
      const known = await presets.list();
      const isPermitted = ({ id }: PresetRecord): boolean => isModelAllowed(caller, id) && mayUse(`${prefix}${id}`, caller);
      return known.filter(isPermitted).map(listedCandidate);
    },
  };
}

/**
 * Not checked for tools that a preset lists, because an administrator chose them. As a model, a preset must always be allowed by the caller's key.
 */
function mayUse(toolId: string, { tools }: Caller): boolean {
  return tools === undefined || tools.includes(toolId);
}

function candidateOf(preset: PresetRecord, runSubAgent: RunSubAgent): Candidate {
  const { id, name, description } = preset;
  const wanted = legalName(id);
  const spec: ToolSpec = {
    name: wanted,
    description: description ?? `Asks the assistant "${name ?? id}", which answers with tools and knowledge of its own.`,
    parameters: trustSchema({
      type: 'object',
      properties: {
        request: { type: 'string', description: 'The complete task in words; the assistant sees nothing else of this conversation' },
      },
      required: ['request'],
    }),
  };
  return {
    wanted,
    key: `preset ${id}`,
    id: `preset:${id}`,
    spec,
    toTool: (offeredName): Tool => ({
      spec: offeredName === wanted ? spec : { ...spec, name: offeredName },
      label: `preset/${id}`,
      server: `preset:${id}`,
      kind: 'preset',
      run: (invocation, context) => runSubAgent(preset, invocation, context),
    }),
  };
}

function transferTool(name: string, agents: readonly PresetRecord[]): Tool {
  const listed = agents.map(({ id, description }) => (description === undefined ? id : `${id} (${description})`));
  return {
    spec: {
      name,
      description: `Hands this conversation over to another assistant, which then answers the user: ${listed.join('; ')}.`,
      parameters: trustSchema({
        type: 'object',
        properties: { agent: { type: 'string', enum: agents.map(({ id }) => id) } },
        required: ['agent'],
      }),
    },
    label: name,
    server: 'toolwharf',
    kind: 'preset',
    run: async ({ args }) => {
      const agent = String(agents.find(({ id }) => id === args['agent'])?.id);
      return { type: 'result', value: `Handed over to ${agent}.`, followUp: { type: 'handoff', preset: agent } };
    },
  };
}

function forbiddenModel(toolId: string): Warning {
  const reason = 'this key may not use it as a model';
  return leftOutWarning('model_forbidden', `The preset "${toolId.slice(prefix.length)}"`, reason);
}
