import { GatewayError } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
import type { PresetBook, PresetRecord } from '../core/preset.ts';
import type { RunContext } from '../core/run.ts';
import type { AskPreset, Tool } from '../core/tool.ts';
import { legalName } from './name-functions.ts';
import type { Candidate } from './offer-tools.ts';
import type { ToolSource } from './tool-source.ts';

const marked = /^preset:(?<id>.+)$/;
/** Ids that an error message lists; more would bury its point. */
const maxListedIds = 20;

/**
 * Presets as tools: each has the single parameter `request` and answers as it would answer a chat. A preset with sub-agents has
 * `transfer_to_agent` without listing it.
 */
export function createPresetTools({ presets, ask }: { presets: PresetBook; ask: AskPreset }): ToolSource {
  async function supplyFor(toolIds: readonly string[] | undefined, run: RunContext) {
    const transfer = await transferOf(run);
    if (toolIds === undefined) return { candidates: transfer, warnings: [] };
    const known = await presets.list();
    const wanted = toolIds.map((toolId) => {
      if (!mayUse(toolId, run)) throw forbidden(toolId);
      return known.find(({ id }) => toolId === `preset:${id}`) ?? unknown(toolId, known);
    });
    const asTools = [...new Set(wanted)].map((preset): Candidate => ({ ...candidateOf(preset, ask), isNamed: true }));
    return { candidates: [...asTools, ...transfer], warnings: [] };
  }

  async function transferOf({ preset }: RunContext): Promise<Candidate[]> {
    if (preset === undefined || preset.subAgents.length === 0) return [];
    const known = await presets.list();
    const agents = preset.subAgents.flatMap((id) => known.find((other) => other.id === id) ?? []);
    return agents.length === 0
      ? []
      : [{ wanted: 'transfer_to_agent', key: 'transfer_to_agent', isNamed: true, toTool: (name) => transferTool(name, agents) }];
  }

  return {
    claims: (toolId) => marked.test(toolId),
    supplyFor,
    async list({ tools }) {
      const known = await presets.list();
      return known.filter(({ id }) => tools === undefined || tools.includes(`preset:${id}`)).map((preset) => candidateOf(preset, ask));
    },
  };
}

/** A preset that lists another one may use it, whatever the caller's key is limited to: an administrator has said so. */
function mayUse(toolId: string, { caller, preset }: RunContext): boolean {
  return caller.tools === undefined || caller.tools.includes(toolId) || preset?.tools?.includes(toolId) === true;
}

function candidateOf(preset: PresetRecord, ask: AskPreset): Candidate {
  const { id, name, description } = preset;
  return {
    wanted: legalName(id),
    key: `preset ${id}`,
    id: `preset:${id}`,
    toTool: (offeredName): Tool => ({
      spec: {
        name: offeredName,
        description: description ?? `Asks the assistant "${name ?? id}", which answers with tools and knowledge of its own.`,
        parameters: oneText('request', 'The whole task in words; the assistant sees nothing else of this conversation'),
      },
      label: `preset/${id}`,
      server: `preset:${id}`,
      kind: 'preset',
      run: (invocation, context) => ask(preset, invocation, context),
    }),
  };
}

function transferTool(name: string, agents: readonly PresetRecord[]): Tool {
  const listed = agents.map(({ id, description }) => (description === undefined ? id : `${id} (${description})`));
  const parameters = oneText('agent', 'Who goes on with this conversation');
  return {
    spec: {
      name,
      description: `Hands this conversation over to another assistant, which then answers the user: ${listed.join('; ')}.`,
      parameters: { ...parameters, properties: { agent: { type: 'string', enum: agents.map(({ id }) => id) } } },
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

function oneText(name: string, description: string): JsonObject {
  return { type: 'object', properties: { [name]: { type: 'string', description } }, required: [name] };
}

function forbidden(toolId: string): GatewayError {
  return new GatewayError('forbidden', `tool_ids: this key may not use "${toolId.slice(0, 100)}".`, { param: 'tool_ids' });
}

function unknown(toolId: string, known: readonly PresetRecord[]): never {
  const listed = known.slice(0, maxListedIds).map(({ id }) => `preset:${id}`);
  const message = `tool_ids: "${toolId.slice(0, 100)}" is not known. Known presets are: ${listed.join(', ') || 'none'}.`;
  throw new GatewayError('unknown_tool_id', message, { param: 'tool_ids' });
}
