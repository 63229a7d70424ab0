import type { ToolCallSettings } from '../../src/chat/tool-calls/tool-call-scope.ts';
import { RunPictures } from '../../src/chat/messages/run-pictures.ts';
import { runChat } from '../../src/chat/loop/run-chat.ts';
import type { BackendRequest, ChatRun, Handoff } from '../../src/chat/loop/chat-run.ts';
import type { ChatEvent } from '../../src/core/chat/chat.ts';
import type { Emit } from '../../src/shared/async/emit.ts';
import { pullFrom } from '../_support/emit-and-pull.ts';
import type { JsonObject } from '../../src/shared/json/json.ts';
import type { Tool } from '../../src/core/tools/tool.ts';
import type { ModelBackend } from '../../src/core/models/model.ts';
import type { ScriptedModel } from '../_support/scripted-model.ts';
import { runContext, toolMap } from '../_support/tools.ts';

/** A function with one number, so that its calls can differ. */
export const numbered: { parameters: JsonObject } = {
  parameters: { type: 'object', properties: { n: { type: 'integer' } }, required: [] },
};

export function callSettings(overrides: Partial<ToolCallSettings> = {}): ToolCallSettings {
  return { run: runContext(), requestTimeoutMs: undefined, defaultTimeoutMs: 1_000, now: () => 0, ...overrides };
}

/** Overrides for a run of the loop; fields of its request may be given directly. */
type LoopOverrides = Partial<Omit<ChatRun, 'request'>> & Partial<BackendRequest>;

/** The input of the loop for a scripted model. */
export function chatRunOf(backend: ModelBackend, tools: Tool[], overrides: LoopOverrides = {}): ChatRun {
  const { model = 'model', callerTools = [], toolChoice, parallelToolCalls, parameters = {}, stream = true, ...others } = overrides;
  const settings = others.settings ?? callSettings();
  return {
    backend,
    answeringFallback: () => undefined,
    request: { model, callerTools, toolChoice, parallelToolCalls, parameters, stream, signal: settings.run.signal },
    pictures: new RunPictures(),
    messages: [{ role: 'user', content: 'Go' }],
    offer: { tools: toolMap(...tools), warnings: [] },
    callerNames: new Set(),
    maxRounds: 10,
    choice: { path: 'native', mayFallBack: false, isSingleCall: false },
    settings,
    saveForClient: async (calls) => [...calls],
    ...others,
  };
}

/** One run of the loop over a scripted model, pulled. */
export function loop(backend: ScriptedModel, tools: Tool[], overrides: LoopOverrides = {}): AsyncGenerator<ChatEvent> {
  return pullFrom((emit) => runLoop(backend, tools, emit, overrides));
}

export function runLoop(
  backend: ScriptedModel,
  tools: Tool[],
  emit: Emit<ChatEvent>,
  overrides: LoopOverrides = {},
): Promise<Handoff | undefined> {
  return runChat(chatRunOf(backend, tools, overrides), emit);
}

/** What the model read as results before its `turn`th answer, counted from 0. */
export function resultsBefore(model: ScriptedModel, turn: number): unknown[] {
  return (model.requests[turn]?.messages ?? []).flatMap((message) => (message.role === 'tool' ? [message.content] : []));
}
