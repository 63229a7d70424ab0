import type { ChatEvent, ChatMessage } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { FoundModel, ModelBackend, ModelFinder } from '../../core/model.ts';
import type { Emit } from '../../shared/emit.ts';
import type { ModeChoice } from './choose-mode.ts';
import { reasonAndAct } from './react/reason-and-act.ts';
import type { ReportingBackend } from '../loop/report-model-requests.ts';
import { recoverLeakedCalls } from './native/recover-leaked-calls.ts';
import { selectToolsByPrompt } from './prompt/select-tools-by-prompt.ts';
import { replayReasoning } from '../loop/replay-reasoning.ts';

export interface ModeBackendOptions {
  model: FoundModel;
  models: ModelFinder;
  /** For other models than `model`, which has been through it. */
  reporting: ReportingBackend;
  settings: { taskModel: string | undefined; taskModelExternal: string | undefined; selectionTemplate: string };
  /** Values for the selection's template. */
  variables: ReadonlyMap<string, string>;
  withFiles: (messages: readonly ChatMessage[]) => ChatMessage[];
  newCallId: () => string;
  /** Another preset has handed the conversation over: the result at its end answers no call of this one. */
  isHandover: boolean;
  caller: { readonly id: string };
  signal: AbortSignal;
}

/** The model's backend in the form that the loop knows: one that makes calls, whichever way they are chosen. For one run. */
export async function backendInMode(
  options: ModeBackendOptions,
  { path, isSingleCall }: ModeChoice,
  emit: Emit<ChatEvent>,
): Promise<ModelBackend> {
  const { model, settings, newCallId, caller } = options;
  const { backend } = model;
  if (path === 'react') return reasonAndAct({ backend, newCallId, caller });
  if (path === 'native') return recoverLeakedCalls({ backend: replayReasoning(backend), newCallId, caller });
  const task = await taskModel(options, emit);
  const { variables, withFiles, isHandover } = options;
  const template = settings.selectionTemplate;
  return selectToolsByPrompt({ backend, task, template, variables, isSingleCall, withFiles, newCallId, isHandover, caller });
}

/** The selection's own model where one is set and known: a small one is enough to choose, and saves the large one's time. */
async function taskModel(
  { model, models, reporting, settings, signal }: ModeBackendOptions,
  emit: Emit<ChatEvent>,
): Promise<{ backend: ModelBackend; model: string }> {
  const wanted = model.record.isLocal ? settings.taskModel : settings.taskModelExternal;
  if (wanted !== undefined) {
    try {
      const found = await models.require(wanted, signal);
      return { backend: reporting(found.backend), model: found.name };
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof GatewayError)) throw error;
      const message = `The task model ${wanted} is not available; ${model.record.id} chooses its tools itself.`;
      await emit([{ type: 'run-event', event: { type: 'warning', data: { code: 'task_model_unavailable', message } } }]);
    }
  }
  return { backend: model.backend, model: model.name };
}
