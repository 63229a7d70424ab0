import { warningEvent } from '../../core/chat/caller-warning.ts';
import type { ChatEvent, ChatMessage } from '../../core/chat/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { FoundModel, ModelBackend, ModelFinder } from '../../core/models/model.ts';
import type { ToolOffer } from '../../core/tools/tool.ts';
import type { Emit } from '../../shared/emit.ts';
import type { MaybePromise } from '../../shared/maybe-promise.ts';
import type { HookedRun } from '../hooks/hook-model.ts';
import type { ModeChoice } from './choose-mode.ts';
import { reasonAndAct } from './react/reason-and-act.ts';
import type { ReportingBackend } from '../loop/report-model-requests.ts';
import { recoverLeakedCalls } from './native/recover-leaked-calls.ts';
import { selectToolsByPrompt } from './prompt/select-tools-by-prompt.ts';
import { replayReasoning } from '../loop/replay-reasoning.ts';

interface ModeBackendOptions {
  model: FoundModel;
  models: ModelFinder;
  /** Adds request logging to the backends of other models; `model` already has it. */
  reporting: ReportingBackend;
  settings: { taskModel: string | undefined; taskModelExternal: string | undefined; selectionTemplate: string };
  /** Values for the selection's template. */
  variables: ReadonlyMap<string, string>;
  withFiles: (messages: readonly ChatMessage[]) => ChatMessage[];
  newCallId: () => string;
  /** Another preset handed the conversation over, so a tool result at its end belongs to a call of that preset. */
  isHandover: boolean;
  caller: { readonly id: string };
  /** The tools of the run, and those that may be found during it. */
  offer: ToolOffer;
  hooked: HookedRun;
  signal: AbortSignal;
}

/** Wraps the model's backend so that the loop receives tool calls from it in every mode. One wrapper serves one run. */
export function backendInMode(
  options: ModeBackendOptions,
  { path, isSingleCall }: ModeChoice,
  emit: Emit<ChatEvent>,
): MaybePromise<ModelBackend> {
  const { model, settings, newCallId, caller } = options;
  const { backend } = model;
  if (path === 'react') return reasonAndAct({ backend, newCallId, caller });
  if (path === 'native') return recoverLeakedCalls({ backend: replayReasoning(backend), newCallId, caller });
  const { variables, withFiles, isHandover, offer, hooked } = options;
  const template = settings.selectionTemplate;
  return taskModel(options, emit).then((task) =>
    selectToolsByPrompt({ backend, task, template, variables, isSingleCall, withFiles, newCallId, isHandover, caller, offer, hooked }),
  );
}

/** The task model that is configured for selections, if it is available: a small model chooses tools faster than the chat model. */
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
      await emit([warningEvent({ code: 'task_model_unavailable', message })]);
    }
  }
  return { backend: model.backend, model: model.name };
}
