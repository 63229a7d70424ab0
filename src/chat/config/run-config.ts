import type { ApprovalRule } from '../../core/user-input/approval.ts';
import { isModelAllowed } from '../../core/callers/caller.ts';
import type { ChatConfig, ChatConfigs, ConfigChange, ConfiguredChat } from '../../core/chat/chat-config.ts';
import type { ChatRequest } from '../../core/chat/chat.ts';
import type { PresetFinder } from '../../core/stores/preset.ts';
import { conversationOf, type RunContext } from '../../core/runs/run.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import type { MaybePromise } from '../../shared/async/maybe-promise.ts';
import { changeData } from './config-update.ts';

/** The client's request after the earlier changes of its chat. `inForce`: those that still apply, as data of `config.update`. */
interface BegunRequest {
  request: ChatRequest;
  inForce?: JsonObject;
}

interface RunConfigOptions {
  run: RunContext;
  configs: ChatConfigs;
  presets: PresetFinder;
}

/**
 * The changes of a run's chat, made by this run or before it. They last for the conversation of the request, or for the run if it has none. Those of a
 * preset that was called as a tool last for the run. Hidden tasks, such as a title, are answered by the model that they name.
 */
export class RunConfig {
  readonly #first: ChatRequest;
  readonly #options: RunConfigOptions;
  readonly #chat: ConfiguredChat | undefined;
  readonly #isResumed: boolean;
  /** The list of the client's request. */
  #requestedToolIds: string[] | undefined;
  /** The list that applies without a change: the request's, but not under a preset that the request did not name. */
  #unchangedToolIds: string[] | undefined;
  #config: ChatConfig | undefined;
  #hasTools = false;

  constructor(first: ChatRequest, options: RunConfigOptions) {
    this.#first = first;
    this.#options = options;
    this.#chat = chatOf(first, options.run);
    this.#isResumed = options.run.suspension?.resumed !== undefined || options.run.repeat?.isBehind === true;
    this.#requestedToolIds = first.toolIds;
    this.#unchangedToolIds = first.toolIds;
  }

  /** Whether the tools with which the chat begins were chosen in an earlier request. */
  get hasTools(): boolean {
    return this.#hasTools;
  }

  begin(): MaybePromise<BegunRequest> {
    return this.#chat === undefined ? { request: this.#first } : this.#beginIn(this.#chat);
  }

  /** Changes the request from the next round on, and later requests of the chat. `time`: in milliseconds since 1970. */
  async change(request: ChatRequest, { toolIds, instructions }: ConfigChange, time: number): Promise<ChatRequest> {
    if (toolIds !== undefined) this.#hasTools = false;
    const { toolIds: toolIdsBefore, instructions: instructionsBefore, ...others } = this.#config ?? {};
    const inForce = {
      toolIds: toolIds === undefined ? toolIdsBefore : (toolIds ?? undefined),
      instructions: instructions === undefined ? instructionsBefore : (instructions ?? undefined),
    };
    const withInstructions = inForce.instructions !== undefined && { instructions: inForce.instructions };
    const next: ChatConfig = {
      ...others,
      ...(inForce.toolIds && { toolIds: inForce.toolIds }),
      ...withInstructions,
      ...this.#askedToolIds(),
      created: time,
    };
    await this.#save(isUnchanged(next) ? undefined : next);
    const { instructions: _before, ...asSent } = request;
    return { ...asSent, toolIds: inForce.toolIds ?? this.#unchangedToolIds, ...withInstructions };
  }

  /** Lets the preset that has taken over answer later requests of the chat. */
  async handOff(preset: string, approvalRule: ApprovalRule, time: number): Promise<void> {
    this.#unchangedToolIds = undefined;
    this.#hasTools = false;
    // Back at the preset that requests name, no change is left.
    const isBack = preset === this.#chat?.model;
    await this.#save(isBack ? undefined : { preset, approvalRule, ...this.#askedToolIds(), created: time });
  }

  async #beginIn(chat: ConfiguredChat): Promise<BegunRequest> {
    const { configs, presets, run } = this.#options;
    const found = await configs.find(chat);
    const isUsable = found?.preset === undefined || (await mayAnswer(found.preset, run, presets));
    if (found === undefined || !isUsable) return { request: this.#first };
    const { toolIds, askedToolIds, preset, instructions, approvalRule, created } = found;
    const requested = this.#requestedToolIds;
    // A resumed run has its request as it was when it was suspended, with what had been changed by then.
    if (this.#isResumed && (requested === undefined || hasSameEntries(requested, toolIds))) this.#requestedToolIds = askedToolIds;
    const hasChosenAnew = this.#requestedToolIds !== undefined && !hasSameEntries(this.#requestedToolIds, askedToolIds);
    const { toolIds: _toolIds, ...others } = found;
    this.#config = hasChosenAnew || toolIds === undefined ? others : found;
    this.#unchangedToolIds = preset !== undefined && !hasChosenAnew ? undefined : this.#requestedToolIds;
    this.#hasTools = this.#config.toolIds !== undefined;
    if (this.#isResumed) return { request: this.#first };
    const request: ChatRequest = {
      ...this.#first,
      model: preset ?? this.#first.model,
      toolIds: this.#config.toolIds ?? this.#unchangedToolIds,
      ...(instructions !== undefined && { instructions }),
      ...(approvalRule !== undefined && { approvalRule }),
    };
    if (isUnchanged(this.#config)) return { request };
    return { request, inForce: { ...(preset !== undefined && { preset }), ...changeData(this.#config, created) } };
  }

  #askedToolIds(): Pick<ChatConfig, 'askedToolIds'> {
    return this.#requestedToolIds === undefined ? {} : { askedToolIds: this.#requestedToolIds };
  }

  async #save(next: ChatConfig | undefined): Promise<void> {
    this.#config = next;
    if (this.#chat !== undefined) await this.#options.configs.save(this.#chat, next);
  }
}

function chatOf(request: ChatRequest, { caller, model, nested }: RunContext): ConfiguredChat | undefined {
  const conversation = conversationOf(request);
  if (conversation === undefined || model === undefined || request.purpose === 'task' || nested !== undefined) return undefined;
  return { callerId: caller.id, conversation, model };
}

/** The preset may have been deleted, or the key limited, since the handoff. */
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
