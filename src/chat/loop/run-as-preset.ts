import type { ApprovalRule } from '../../core/approval.ts';
import type { ChatEvent, ChatRequest } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Emit } from '../../shared/emit.ts';
import { limits } from '../../core/limits.ts';
import type { PresetBook, PresetRecord } from '../../core/preset.ts';
import type { RunContext } from '../../core/run.ts';
import { answerChat } from './answer-chat.ts';
import type { ChatServices } from './answer-chat.ts';
import { applyPresets } from './apply-preset.ts';
import { requireModel } from './require-model.ts';
import type { Handoff } from './run-chat.ts';

/**
 * Answers a run as the preset that the request names as its model, if it is one, and as those that it hands off to.
 * @throws GatewayError as `answerChat`; `forbidden` for a model that the caller's key may not use; `invalid_request` for presets in a circle
 */
export async function runAsPreset(
  first: ChatRequest,
  { run, services }: { run: RunContext; services: ChatServices & { presets: PresetBook } },
  emit: Emit<ChatEvent>,
): Promise<void> {
  let request = first;
  let functionsBefore: readonly string[] | undefined;
  for (let handoffs = 0; ; handoffs += 1) {
    requireModel(run.caller, request.model);
    run.suspension?.answers(request);
    const applied = await applyPresets(request, services.presets);
    const preset = actingPreset(applied.presets);
    const rule = strictestRule(request.approvalRule, ...applied.presets.map(({ needsApproval }) => needsApproval));
    const presetIds = applied.presets.map(({ id }) => id);
    const acting = { ...run, preset, presetIds, approvalRule: strictestRule(run.approvalRule, rule) };
    const handoff = await answerChat(applied.request, { run: acting, services }, withStartOf(request.model, functionsBefore, emit));
    if (handoff === undefined) return;
    if (handoffs >= limits.handoffs) {
      await emit([
        { type: 'run-event', event: { type: 'limit.reached', data: { limit: 'handoffs', value: limits.handoffs } } },
        { type: 'text', text: `The conversation was handed over ${limits.handoffs} times without an answer.` },
        { type: 'finish', reason: 'stop' },
        { type: 'run-event', event: { type: 'run.end', data: { run_id: run.runId, status: 'completed' } } },
      ]);
      return;
    }
    functionsBefore = handoff.functions;
    request = await handedOver({ ...request, approvalRule: rule }, handoff, services.presets);
  }
}

/** The preset that the request names, including tools inherited from its base presets. */
function actingPreset([first, ...below]: readonly PresetRecord[]): PresetRecord | undefined {
  if (first === undefined || first.tools !== undefined) return first;
  const tools = below.find((preset) => preset.tools !== undefined)?.tools;
  return tools === undefined ? first : { ...first, tools };
}

/** The caller's request with the messages that the run has added. Of the first preset's settings, only its approval rules are carried over. */
async function handedOver(request: ChatRequest, { preset, messages }: Handoff, presets: PresetBook): Promise<ChatRequest> {
  if ((await presets.find(preset)) === undefined)
    throw new GatewayError('model_not_found', `The conversation was handed over to the preset "${preset}", which does not exist.`);
  const messagesSoFar = [...request.messages, ...messages];
  return { ...request, model: preset, messages: messagesSoFar, toolIds: undefined, toolChoice: undefined, isHandover: true };
}

/** The run keeps the model that the request names. A hand-off emits the change of functions, not another start of the run. */
function withStartOf(model: string, functionsBefore: readonly string[] | undefined, emit: Emit<ChatEvent>): Emit<ChatEvent> {
  return (events) => {
    const [first, ...others] = events;
    if (first?.type !== 'run-event' || first.event.type !== 'run.start') return emit(events);
    const data = { ...first.event.data, model };
    if (functionsBefore === undefined) return emit([{ type: 'run-event', event: { type: 'run.start', data } }, ...others]);
    const functions = Array.isArray(first.event.data['functions']) ? first.event.data['functions'] : [];
    const added = functions.filter((name) => typeof name !== 'string' || !functionsBefore.includes(name));
    const removed = functionsBefore.filter((name) => !functions.includes(name));
    return emit([{ type: 'run-event', event: { type: 'config.update', data: { ...data, added, removed } } }, ...others]);
  };
}

/** Combines approval rules: a call needs approval if any of them demands it. */
function strictestRule(...rules: readonly (ApprovalRule | undefined)[]): ApprovalRule {
  if (rules.includes(true)) return true;
  const names = rules.flatMap((rule) => (typeof rule === 'object' ? rule : []));
  return names.length > 0 && names;
}
