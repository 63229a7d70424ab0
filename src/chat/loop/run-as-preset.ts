import type { ApprovalRule } from '../../core/approval.ts';
import type { ChatEvent, ChatRequest } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { JsonObject } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';
import type { PresetBook, PresetRecord } from '../../core/preset.ts';
import type { RunContext } from '../../core/run.ts';
import { answerChat } from './answer-chat.ts';
import type { ChatServices } from './answer-chat.ts';
import { applyPresets } from './apply-preset.ts';
import { requireModel } from './require-model.ts';
import type { Handoff } from './run-chat.ts';
import { Rest } from './stream-delegation.ts';

/**
 * One run under the preset that the request names as its model, if it is one, and under those it hands over to.
 * @throws GatewayError as `answerChat`; `forbidden` for a model that the caller's key may not use; `invalid_request` for presets in a circle, `tool_loop` is none: too many hand-overs end with words.
 */
export async function* runAsPreset(
  request: ChatRequest,
  run: RunContext,
  services: ChatServices & { presets: PresetBook },
): AsyncGenerator<ChatEvent, Rest | undefined> {
  let asked = request;
  let before: string[] | undefined;
  for (let handoffs = 0; ; handoffs += 1) {
    requireModel(run.caller, asked.model);
    run.wait?.answers(asked);
    const applied = await applyPresets(asked, services.presets);
    const preset = actingPreset(applied.presets);
    const rule = strictestRule(asked.approvalRule, ...applied.presets.map(({ needsApproval }) => needsApproval));
    const approvalRule = strictestRule(run.approvalRule, rule);
    // A plain model: nothing to change, and every layer costs each event of its answer.
    const events = answerChat(applied.request, { ...run, preset, approvalRule }, services);
    const isPlain = preset === undefined && handoffs === 0;
    const handoff = yield* isPlain ? events : renamed(events, asked.model, before);
    if (handoff === undefined || handoff instanceof Rest) return handoff;
    if (handoffs >= limits.handoffs) {
      yield { type: 'run-event', event: { type: 'limit.reached', data: { limit: 'handoffs', value: limits.handoffs } } };
      yield { type: 'text', text: `The conversation was handed over ${limits.handoffs} times without an answer.` };
      yield { type: 'finish', reason: 'stop' };
      yield { type: 'run-event', event: { type: 'run.end', data: { run_id: run.runId, status: 'completed' } } };
      return undefined;
    }
    before = handoff.functions;
    asked = await handedOver({ ...asked, approvalRule: rule }, handoff, services.presets);
  }
}

/** The one that was asked, with the tools that it has from those it stands on. */
function actingPreset([first, ...below]: readonly PresetRecord[]): PresetRecord | undefined {
  if (first === undefined || first.tools !== undefined) return first;
  const tools = below.find((preset) => preset.tools !== undefined)?.tools;
  return tools === undefined ? first : { ...first, tools };
}

/** The caller's own words with what the run has added; of what the first preset has put in, only what it demands for approvals goes along. */
async function handedOver(asked: ChatRequest, { preset, messages }: Handoff, presets: PresetBook): Promise<ChatRequest> {
  if ((await presets.find(preset)) === undefined)
    throw new GatewayError('model_not_found', `The conversation was handed over to the preset "${preset}", which does not exist.`);
  const messagesSoFar = [...asked.messages, ...messages];
  return { ...asked, model: preset, messages: messagesSoFar, toolIds: undefined, toolChoice: undefined, isHandover: true };
}

/** The run is known by the model that was asked; a hand-over changes it and starts no other run. */
async function* renamed(
  events: AsyncGenerator<ChatEvent, Handoff | Rest | undefined>,
  model: string,
  before: readonly string[] | undefined,
): AsyncGenerator<ChatEvent, Handoff | Rest | undefined> {
  try {
    for (let next = await events.next(); ; next = await events.next()) {
      if (next.done === true) return next.value;
      const event = next.value;
      if (event.type !== 'run-event' || event.event.type !== 'run.start') yield event;
      else if (before !== undefined) yield update({ ...event.event.data, model }, before);
      else yield { type: 'run-event', event: { type: 'run.start', data: { ...event.event.data, model } } };
    }
  } finally {
    await events.return(undefined);
  }
}

/** Another preset has other functions: what came and what went. */
function update(data: JsonObject, before: readonly string[]): ChatEvent {
  const functions = Array.isArray(data['functions']) ? data['functions'].filter((name) => typeof name === 'string') : [];
  const added = functions.filter((name) => !before.includes(name));
  const removed = before.filter((name) => !functions.includes(name));
  return { type: 'run-event', event: { type: 'config.update', data: { ...data, added, removed } } };
}

/** What several rules demand together: a call waits where any of them says so. */
function strictestRule(...rules: readonly (ApprovalRule | undefined)[]): ApprovalRule {
  if (rules.includes(true)) return true;
  const names = rules.flatMap((rule) => (typeof rule === 'object' ? rule : []));
  return names.length > 0 && names;
}
