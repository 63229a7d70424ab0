import type { ApprovalRule } from '../../core/user-input/approval.ts';
import { isModelAllowed } from '../../core/callers/caller.ts';
import type { ChatConfig, ChatConfigs, ConfigChange, ConfiguredChat } from '../../core/chat/chat-config.ts';
import type { ChatRequest } from '../../core/chat/chat.ts';
import type { PresetFinder } from '../../core/models/preset.ts';
import { conversationOf } from '../../core/runs/run.ts';
import type { RunContext } from '../../core/runs/run.ts';
import type { JsonObject } from '../../shared/json.ts';
import type { MaybePromise } from '../../shared/maybe-promise.ts';
import { changeData } from './config-update.ts';

/** The client's request after the earlier changes of its chat. `inForce`: those that still apply, as data of `config.update`. */
interface BegunRequest {
  request: ChatRequest;
  inForce?: JsonObject;
}

/** What was changed in a run's chat, by this run or before it. */
interface RunConfig {
  begin(): MaybePromise<BegunRequest>;
  /** Whether the tools that the chat begins with were chosen in an earlier request. */
  readonly hasTools: boolean;
  /** Changes the request from the next round on, and later requests of the chat. `time`: in milliseconds since 1970. */
  change(request: ChatRequest, change: ConfigChange, time: number): Promise<ChatRequest>;
  /** Lets the preset that has taken over answer later requests of the chat. */
  handOff(preset: string, approvalRule: ApprovalRule, time: number): Promise<void>;
}

interface RunConfigOptions {
  run: RunContext;
  configs: ChatConfigs;
  presets: PresetFinder;
}

/**
 * Changes last for the conversation of the request, or for the run where it has none. Those of a preset that was called as a tool last for the run.
 * Hidden tasks, such as a title, are sent to the model that they name.
 */
export function createRunConfig(first: ChatRequest, { run, configs, presets }: RunConfigOptions): RunConfig {
  const chat = chatOf(first, run);
  const isResumed = run.suspension?.resumed !== undefined;
  /** The list of the client's request. */
  let requested = first.toolIds;
  /** The list that applies without a change: the request's, but not under a preset that the request did not name. */
  let unchangedToolIds = requested;
  let config: ChatConfig | undefined;

  async function save(next: ChatConfig | undefined): Promise<void> {
    config = next;
    if (chat !== undefined) await configs.save(chat, next);
  }

  async function beginIn(known: ConfiguredChat): Promise<BegunRequest> {
    const found = await configs.find(known);
    const isUsable = found?.preset === undefined || (await mayAnswer(found.preset, run, presets));
    if (found === undefined || !isUsable) return { request: first };
    const { toolIds, ...others } = found;
    // A resumed run has its request as it was when it was suspended, with what had been changed by then.
    if (isResumed && (requested === undefined || hasSameEntries(requested, toolIds))) requested = found.askedToolIds;
    const hasChosenAnew = requested !== undefined && !hasSameEntries(requested, found.askedToolIds);
    config = hasChosenAnew || toolIds === undefined ? others : found;
    const { preset, instructions, approvalRule } = found;
    unchangedToolIds = preset !== undefined && !hasChosenAnew ? undefined : requested;
    runConfig.hasTools = config.toolIds !== undefined;
    if (isResumed) return { request: first };
    const request: ChatRequest = {
      ...first,
      model: preset ?? first.model,
      toolIds: config.toolIds ?? unchangedToolIds,
      ...(instructions !== undefined && { instructions }),
      ...(approvalRule !== undefined && { approvalRule }),
    };
    if (isUnchanged(config)) return { request };
    return { request, inForce: { ...(preset !== undefined && { preset }), ...changeData(config, found.created) } };
  }

  const runConfig: RunConfig & { hasTools: boolean } = {
    hasTools: false,

    begin: () => (chat === undefined ? { request: first } : beginIn(chat)),

    async change(request, { toolIds, instructions }, time) {
      if (toolIds !== undefined) runConfig.hasTools = false;
      const { toolIds: _tools, instructions: _words, ...others } = config ?? {};
      const kept = {
        toolIds: toolIds === undefined ? config?.toolIds : (toolIds ?? undefined),
        instructions: instructions === undefined ? config?.instructions : (instructions ?? undefined),
      };
      const next: ChatConfig = {
        ...others,
        ...(kept.toolIds && { toolIds: kept.toolIds }),
        ...(kept.instructions !== undefined && { instructions: kept.instructions }),
        ...(requested && { askedToolIds: requested }),
        created: time,
      };
      await save(isUnchanged(next) ? undefined : next);
      const { instructions: _before, ...asSent } = request;
      return {
        ...asSent,
        toolIds: kept.toolIds ?? unchangedToolIds,
        ...(kept.instructions !== undefined && { instructions: kept.instructions }),
      };
    },

    async handOff(preset, approvalRule, time) {
      unchangedToolIds = undefined;
      runConfig.hasTools = false;
      // Back at the preset that requests name, no change is left.
      if (preset === chat?.model) return save(undefined);
      await save({ preset, approvalRule, ...(requested && { askedToolIds: requested }), created: time });
    },
  };
  return runConfig;
}

function chatOf(request: ChatRequest, { caller, model, presetPath }: RunContext): ConfiguredChat | undefined {
  const conversation = conversationOf(request);
  if (conversation === undefined || model === undefined || request.purpose === 'task' || presetPath !== undefined) return undefined;
  return { callerId: caller.id, conversation, model };
}

/** The preset may have been deleted, or the key limited, since the conversation was handed over. */
async function mayAnswer(preset: string, { caller }: RunContext, presets: PresetFinder): Promise<boolean> {
  return isModelAllowed(caller, preset) && (await presets.find(preset)) !== undefined;
}

function isUnchanged({ preset, toolIds, instructions }: ChatConfig): boolean {
  return preset === undefined && toolIds === undefined && instructions === undefined;
}

/** In any order: a frontend may sort its list anew with each request. */
function hasSameEntries(left: readonly string[], right: readonly string[] | undefined): boolean {
  return left.length === right?.length && left.every((entry) => right.includes(entry));
}
