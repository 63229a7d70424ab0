import type { ChatRequest } from '../../core/chat/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { PresetFinder } from '../../core/stores/preset.ts';
import type { ToolCallResult } from '../tool-calls/tool-call-result.ts';
import type { Handoff } from './chat-run.ts';

/** Handoffs within one run, to stop presets that hand off in circles. */
export const handoffsLimit = 8;

/** The preset that a call of this round hands the conversation to. */
export function handoffIn(results: readonly ToolCallResult[]): string | undefined {
  return results.flatMap(({ followUp }) => (followUp?.type === 'handoff' ? [followUp.preset] : []))[0];
}

/** The caller's request with the messages that the run has added. Only the approval rules of the first preset are carried over. */
export async function requestAfterHandoff({ preset, messages }: Handoff, before: ChatRequest, presets: PresetFinder): Promise<ChatRequest> {
  if ((await presets.find(preset)) === undefined)
    throw new GatewayError('model_not_found', `The conversation was handed over to the preset "${preset}", which does not exist.`);
  const { instructions: _instructions, ...request } = before;
  const messagesSoFar = [...request.messages, ...messages];
  return { ...request, model: preset, messages: messagesSoFar, toolIds: undefined, toolChoice: undefined, purpose: 'handoff' };
}
