import { warningEvent } from '../../../core/chat/caller-warning.ts';
import type { ChatEvent } from '../../../core/chat/chat.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { FoundModel, ModelFinder } from '../../../core/models/model.ts';
import type { Emit } from '../../../shared/async/emit.ts';

interface TaskModelOptions {
  models: ModelFinder;
  settings: { taskModel: string | undefined; taskModelExternal: string | undefined };
  signal: AbortSignal;
}

/**
 * The task model that is configured for selections, because a small model chooses tools faster than the chat model. If there is none, or it is not
 * available, the chat model.
 */
export async function findTaskModel(
  chatModel: FoundModel,
  { models, settings, signal }: TaskModelOptions,
  emit: Emit<ChatEvent>,
): Promise<FoundModel> {
  const wanted = chatModel.record.isLocal ? settings.taskModel : settings.taskModelExternal;
  if (wanted === undefined) return chatModel;
  try {
    return await models.require(wanted, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof GatewayError)) throw error;
    const message = `The task model ${wanted} is not available; ${chatModel.record.id} chooses its tools itself.`;
    await emit([warningEvent({ code: 'task_model_unavailable', message })]);
    return chatModel;
  }
}
