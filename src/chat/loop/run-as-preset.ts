import type { ApprovalRule } from '../../core/user-input/approval.ts';
import { warningEvent } from '../../core/chat/caller-warning.ts';
import type { ChatConfigs, ConfigChange } from '../../core/chat/chat-config.ts';
import type { ChatEvent, ChatRequest } from '../../core/chat/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Emit } from '../../shared/emit.ts';
import type { PresetFinder, PresetRecord } from '../../core/models/preset.ts';
import type { RunContext } from '../../core/runs/run.ts';
import type { JsonObject } from '../../shared/json.ts';
import { answerChat } from './answer-chat.ts';
import type { ChatServices } from './answer-chat.ts';
import { applyPresets } from './apply-preset.ts';
import { changesOf, configUpdate, createRunConfig } from './run-config.ts';
import { requireModel } from './require-model.ts';
import type { Handoff } from './run-chat.ts';

/** Hand-offs within one run, to stop presets that hand over in circles. */
const handoffsLimit = 8;

/** What presets need besides a chat with a model. */
export type PresetServices = ChatServices & { presets: PresetFinder; configs: ChatConfigs };

/**
 * Answers a run as the preset that the request names as its model, if it is one, and as those that it hands off to. What functions and hand-offs have
 * changed in the chat before, and change now, applies.
 * @throws GatewayError as `answerChat`; `forbidden` for a model that the caller's key may not use; `invalid_request` for presets in a circle
 */
export async function runAsPreset(
  first: ChatRequest,
  { run, services }: { run: RunContext; services: PresetServices },
  emit: Emit<ChatEvent>,
): Promise<void> {
  const config = createRunConfig(first, { run, configs: services.configs, presets: services.presets });
  const beginning = config.begin();
  const begun = beginning instanceof Promise ? await beginning : beginning;
  let { request } = begun;
  let start: Start = { type: 'first', model: begun.inForce === undefined ? request.model : first.model, events: eventsOf(begun.inForce) };
  let speak = emit;
  for (let handoffs = 0; ; handoffs += 1) {
    requireModel(run.caller, request.model);
    run.suspension?.answers(request);
    const applying = applyPresets(request, services.presets);
    let applied = applying instanceof Promise ? await applying : applying;
    const presetIds = applied.presets.map(({ id }) => id);
    const rule = strictestRule(request.approvalRule, ...applied.presets.map(({ needsApproval }) => needsApproval));
    const acting = {
      ...run,
      preset: actingPreset(applied.presets),
      presetIds,
      approvalRule: strictestRule(run.approvalRule, rule),
    };
    const change = async (changes: ConfigChange, time: number): Promise<ChatRequest> => {
      request = await config.change(request, changes, time);
      run.suspension?.answers(request);
      return (await applyPresets(request, services.presets)).request;
    };
    if (config.hasTools) {
      const { toolIds, warnings } = await usableToolIds(applied.request, acting, services.tools);
      if (warnings.length > 0) applied = { ...applied, request: await change({ toolIds }, services.now()) };
      start = { ...start, events: [...start.events, ...warnings] };
    }
    const handoff = await answerChat(applied.request, { run: acting, services, change }, withStart(start, speak));
    if (handoff === undefined) return;
    speak = handoff.separator.separate(speak);
    if (handoffs >= handoffsLimit) {
      await speak([
        { type: 'run-event', event: { type: 'limit.reached', data: { limit: 'handoffs', value: handoffsLimit } } },
        { type: 'text', text: `The conversation was handed over ${handoffsLimit} times without an answer.` },
        { type: 'finish', reason: 'stop' },
        { type: 'run-event', event: { type: 'run.end', data: { run_id: run.runId, status: 'completed' } } },
      ]);
      return;
    }
    const created = services.now();
    start = { type: 'handed_over', model: handoff.preset, functionsBefore: handoff.functions, created, events: [] };
    request = await handedOver({ ...request, approvalRule: rule }, handoff, services.presets);
    await config.handOver(handoff.preset, rule, created);
  }
}

/** How one preset's part of a run begins. */
type Start = { model: string; events: readonly ChatEvent[] } & (
  | { type: 'first' }
  | { type: 'handed_over'; functionsBefore: readonly string[]; created: number }
);

function eventsOf(inForce: JsonObject | undefined): ChatEvent[] {
  return inForce === undefined ? [] : [configUpdate(inForce)];
}

/** The entries of a list from an earlier request that are still known and allowed; the others are left out with a warning. */
async function usableToolIds(
  request: ChatRequest,
  run: RunContext,
  tools: ChatServices['tools'],
): Promise<{ toolIds: string[]; warnings: ChatEvent[] }> {
  const problemOf = async (toolIds: string[]): Promise<GatewayError | undefined> => {
    try {
      await tools.offerFor({ ...request, toolServers: [], mcpServers: [], toolIds }, run);
      return undefined;
    } catch (error) {
      if (error instanceof GatewayError && (error.code === 'unknown_tool_id' || error.code === 'forbidden')) return error;
      throw error;
    }
  };
  const { toolIds = [] } = request;
  if ((await problemOf(toolIds)) === undefined) return { toolIds, warnings: [] };
  const warnings: ChatEvent[] = [];
  const usable: string[] = [];
  for (const toolId of toolIds) {
    const problem = await problemOf([toolId]);
    if (problem === undefined) usable.push(toolId);
    else warnings.push(warningOf(problem));
  }
  return { toolIds: usable, warnings };
}

function warningOf({ code, message }: GatewayError): ChatEvent {
  return warningEvent({ code, message });
}

/** The preset that the request names, including tools inherited from its base presets. */
function actingPreset([first, ...below]: readonly PresetRecord[]): PresetRecord | undefined {
  if (first === undefined || first.tools !== undefined) return first;
  const tools = below.find((preset) => preset.tools !== undefined)?.tools;
  return tools === undefined ? first : { ...first, tools };
}

/** The caller's request with the messages that the run has added. Of the first preset's settings, only its approval rules are carried over. */
async function handedOver(before: ChatRequest, { preset, messages }: Handoff, presets: PresetFinder): Promise<ChatRequest> {
  if ((await presets.find(preset)) === undefined)
    throw new GatewayError('model_not_found', `The conversation was handed over to the preset "${preset}", which does not exist.`);
  const { instructions: _instructions, ...request } = before;
  const messagesSoFar = [...request.messages, ...messages];
  return { ...request, model: preset, messages: messagesSoFar, toolIds: undefined, toolChoice: undefined, isHandover: true };
}

/** The run keeps the model that the request names. A hand-off emits the change of functions, not another start of the run. */
function withStart(start: Start, emit: Emit<ChatEvent>): Emit<ChatEvent> {
  return (events) => {
    const [first] = events;
    if (first?.type !== 'run-event' || first.event.type !== 'run.start') return emit(events);
    const others = events.slice(1);
    const data = { ...first.event.data, model: start.model };
    if (start.type === 'first') return emit([{ type: 'run-event', event: { type: 'run.start', data } }, ...start.events, ...others]);
    const { functionsBefore, created, model: preset } = start;
    const changes = { ...changesOf(functionsBefore, data.functions ?? []), preset, created: new Date(created).toISOString() };
    return emit([configUpdate({ ...data, ...changes }), ...others]);
  };
}

/** Combines approval rules: a call needs approval if any of them demands it. */
function strictestRule(...rules: readonly (ApprovalRule | undefined)[]): ApprovalRule {
  if (rules.includes(true)) return true;
  const names = rules.flatMap((rule) => (typeof rule === 'object' ? rule : []));
  return names.length > 0 && names;
}
