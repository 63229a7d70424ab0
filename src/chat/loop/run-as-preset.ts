import type { ApprovalRule } from '../../core/user-input/approval.ts';
import { warningEvent } from '../../core/chat/caller-warning.ts';
import type { ChatConfigs, ConfigChange } from '../../core/chat/chat-config.ts';
import type { ChatEvent, ChatRequest } from '../../core/chat/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Emit } from '../../shared/async/emit.ts';
import type { PresetFinder, PresetRecord } from '../../core/stores/preset.ts';
import type { RunContext } from '../../core/runs/run.ts';
import type { Announcement } from './announce-start.ts';
import { answerChat } from './answer-chat.ts';
import { applyPresets, type PresetRequest } from './apply-preset.ts';
import { handoffsLimit, requestAfterHandoff } from './hand-off.ts';
import { configUpdate } from '../config/config-update.ts';
import type { ChatServices } from './prepared-chat.ts';
import { RunConfig } from '../config/run-config.ts';
import { ShownText } from './shown-text.ts';
import { requireModel } from '../../core/callers/require-model.ts';

/** The services of a chat, and those of its presets. */
export type PresetServices = ChatServices & { presets: PresetFinder; configs: ChatConfigs };

/**
 * Answers a run as the preset that the request names as its model, if it is one, and as those that it hands off to. Applies the changes that functions
 * and handoffs have made in the chat before, and those that they make now.
 * @throws GatewayError as `answerChat`; `forbidden` for a model that the caller's key may not use; `invalid_request` for presets in a circle
 */
export async function runAsPreset(
  first: ChatRequest,
  { run, services }: { run: RunContext; services: PresetServices },
  emit: Emit<ChatEvent>,
): Promise<void> {
  const config = new RunConfig(first, { run, configs: services.configs, presets: services.presets });
  const beginning = config.begin();
  const begun = beginning instanceof Promise ? await beginning : beginning;
  let { request } = begun;
  const { inForce } = begun;
  let announcement: Announcement = {
    type: 'start',
    model: inForce === undefined ? request.model : first.model,
    events: inForce === undefined ? [] : [configUpdate(inForce)],
  };
  const shown = new ShownText();
  shown.noteEarlier(run.transcript ?? []);
  let emitNext = shown.watch(emit);
  const answers = (answered: ChatRequest): void => {
    run.suspension?.answers(answered);
    run.repeat?.answers(answered);
  };
  for (let handoffs = 0; ; handoffs += 1) {
    requireModel(run.caller, request.model);
    answers(request);
    const applying = applyPresets(request, services.presets);
    let applied = applying instanceof Promise ? await applying : applying;
    const rule = strictestRule([request.approvalRule, ...applied.presets.map(({ needsApproval }) => needsApproval)]);
    const change = async (changes: ConfigChange, time: number): Promise<ChatRequest> => {
      request = await config.change(request, changes, time);
      answers(request);
      return (await applyPresets(request, services.presets)).request;
    };
    if (config.hasTools) {
      const { toolIds, warnings } = await usableToolIds(applied.request, answeringAs(applied, rule, run), services.tools);
      if (warnings.length > 0) applied = { ...applied, request: await change({ toolIds }, services.now()) };
      if (announcement.type === 'start') announcement = { ...announcement, events: [...announcement.events, ...warnings] };
    }
    const acting = answeringAs(applied, rule, run);
    const handoff = await answerChat(applied.request, { run: acting, services, announcement, change, shown }, emitNext);
    if (handoff === undefined) return;
    emitNext = handoff.separator.separate(emitNext);
    if (handoffs >= handoffsLimit) {
      await emitNext(endOfHandoffs(run));
      return;
    }
    const time = services.now();
    announcement = { type: 'handoff', preset: handoff.preset, functionsBefore: handoff.functions, time };
    request = await requestAfterHandoff(handoff, { ...request, approvalRule: rule }, services.presets);
    await config.handOff(handoff.preset, rule, time);
  }
}

/** The run while these presets answer. `rule`: what they and the request demand of approvals. */
function answeringAs({ request, presets }: PresetRequest, rule: ApprovalRule, run: RunContext): RunContext {
  const { model, messages, files } = request;
  return {
    ...run,
    preset: actingPreset(presets),
    presetIds: presets.map(({ id }) => id),
    approvalRule: strictestRule([run.approvalRule, rule]),
    conversation: { model, messages, files },
  };
}

function endOfHandoffs({ runId }: RunContext): ChatEvent[] {
  return [
    { type: 'run-event', event: { type: 'limit.reached', data: { limit: 'handoffs', value: handoffsLimit } } },
    { type: 'text', text: `The conversation was handed over ${handoffsLimit} times without an answer.` },
    { type: 'finish', reason: 'stop' },
    { type: 'run-event', event: { type: 'run.end', data: { run_id: runId, status: 'completed' } } },
  ];
}

/** The entries of a list from an earlier request that are still known and allowed, and a warning for each other one. */
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

/** The preset that the request names, including the tools and fallbacks that it inherits from its base presets. */
function actingPreset(presets: readonly PresetRecord[]): PresetRecord | undefined {
  const first = presets[0];
  if (first === undefined) return undefined;
  const tools = presets.find((preset) => preset.tools !== undefined)?.tools;
  const fallbacks = presets.find((preset) => preset.fallbacks !== undefined)?.fallbacks;
  if (first.tools === tools && first.fallbacks === fallbacks) return first;
  return { ...first, ...(tools !== undefined && { tools }), ...(fallbacks !== undefined && { fallbacks }) };
}

/** Combines approval rules: a call needs approval if any of them demands it. */
function strictestRule(rules: readonly (ApprovalRule | undefined)[]): ApprovalRule {
  if (rules.includes(true)) return true;
  if (!rules.some(Boolean)) return false;
  const names = rules.flatMap((rule) => (typeof rule === 'object' ? rule : []));
  return names.length > 0 && names;
}
