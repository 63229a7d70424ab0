import { createChatConfigs } from '../../chat/config/chat-configs.ts';
import type { PresetServices } from '../../chat/loop/run-as-preset.ts';
import { defaultSelectionTemplate } from '../../chat/modes/prompt/selection-prompt.ts';
import { defaultContextTemplate } from '../../chat/messages/inject-file-context.ts';
import { createResultCache } from '../../chat/results/result-cache.ts';
import { Continuations } from '../../chat/suspend/continuations.ts';
import type { ModelCatalog } from '../../models/catalog/model-catalog.ts';
import type { ToolFinder } from '../../core/tools/tool.ts';
import { makeCallId } from '../../shared/text/call-ids.ts';
import type { AppContext } from '../app-context.ts';
import type { Approvals } from './compose-approvals.ts';
import type { Extensions } from './compose-extensions.ts';
import type { Storage } from './compose-storage.ts';

interface ChatParts {
  storage: Storage;
  models: ModelCatalog;
  tools: ToolFinder;
  approvals: Approvals;
  extensions: Extensions;
}

/** The services of the loop: models, tools, presets, settings, and what tool calls share over all runs. */
export function composeChat(
  { config, logger, now, elapsed, newId }: AppContext,
  { storage, models, tools, approvals, extensions }: ChatParts,
): PresetServices {
  const cache = createResultCache(elapsed);
  storage.owners.onDeleted(cache.deleteAllOf);
  const { taskModel, taskModelExternal, functionCalling, maxToolRounds, toolTimeoutMs } = config;
  return {
    models,
    tools,
    presets: storage.presets,
    configs: createChatConfigs({
      store: storage.noteStores.config,
      now,
      onFault: (error) =>
        logger.error(
          { err: error },
          'changes that functions and handoffs made to chats cannot be stored or read at the moment; chats continue without them',
        ),
    }),
    continuations: new Continuations({
      store: storage.noteStores.continuation,
      fallback: storage.fallbackNotes,
      now,
      newCallId: makeCallId,
      onFault: (error) =>
        logger.error(
          { err: error },
          "results and reasoning that belong to calls of callers' own functions cannot be stored or read at the moment; a restart loses them",
        ),
    }),
    transcripts: approvals.transcripts,
    thoughtSeals: storage.thoughtSeals,
    settings: {
      taskModel,
      taskModelExternal,
      selectionTemplate: config.selectionTemplate ?? defaultSelectionTemplate,
      contextTemplate: config.ragTemplate ?? defaultContextTemplate,
      functionCalling,
      maxToolRounds,
      toolTimeoutMs,
    },
    runtime: {
      ...approvals.runtime,
      ...(extensions.hooks && { hooks: extensions.hooks }),
      totalTimeoutMs: config.toolTotalTimeoutMs,
      cache,
      newFaultId: newId,
      onFault: ({ id, tool, runId, callId, error }) =>
        logger.error({ err: error, fault_id: id, tool, run_id: runId, call_id: callId }, 'a tool threw an exception'),
    },
    newCallId: makeCallId,
    now,
  };
}
