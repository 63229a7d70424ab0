import { createSubAgentRunner } from '../chat/loop/run-sub-agent.ts';
import type { ChatServices } from '../chat/loop/answer-chat.ts';
import { createContinuations } from '../chat/suspend/continue-run.ts';
import { defaultSelectionTemplate } from '../chat/modes/prompt/selection-prompt.ts';
import { defaultContextTemplate } from '../chat/results/inject-file-context.ts';
import { createCallRuntime } from './create-call-runtime.ts';
import type { Config } from './config/config.ts';
import type { SendOutbound } from '../core/outbound.ts';
import type { PresetBook } from '../core/preset.ts';
import type { Registry } from '../core/registry.ts';
import type { CallBrowser } from '../core/browser-call.ts';
import type { ChatMemories, ChatMemory } from '../core/chat-memory.ts';
import type { ChatStore } from '../core/chat-store.ts';
import { createBackends } from './create-backends.ts';
import type { Backends } from './create-backends.ts';
import type { Extensions } from './open-extensions.ts';
import type { CatalogBackend, ModelCatalog } from '../models/model-catalog.ts';
import { createModelCatalog } from '../models/model-catalog.ts';
import { withPresets } from '../models/preset-models.ts';
import { createPresetStore } from '../storage/preset-store.ts';
import type { PresetStore } from '../storage/preset-store.ts';
import { logServerNews } from './startup-warnings.ts';
import { createHistoryTool } from '../tools/catalog/history-tool.ts';
import { createPresetTools } from '../tools/catalog/preset-tools.ts';
import { createToolCatalog } from '../tools/catalog/tool-catalog.ts';
import type { ToolCatalog } from '../tools/catalog/tool-catalog.ts';
import { version } from './version.ts';

/** What the parts around a chat give to it. */
export interface Surroundings {
  logger: Parameters<typeof logServerNews>[0] & Parameters<typeof createCallRuntime>[1]['logger'];
  backends?: CatalogBackend[];
  registry: Registry;
  chats: ChatStore;
  chatMemory: ChatMemories;
  /** In this process, for what the store cannot keep just now. */
  spareMemory: ChatMemory;
  send: SendOutbound;
  callBrowser: CallBrowser;
  /** The operator's own functions and hooks. */
  extensions: Pick<Extensions, 'sources' | 'hooks'>;
  /** What else calls of tools have over all runs. */
  runtime?: ChatServices['runtime'];
  now: () => number;
  newId: () => string;
}

export interface ChatParts {
  models: ModelCatalog;
  tools: ToolCatalog;
  presets: PresetStore;
  chats: ChatStore;
  services: ChatServices & { presets: PresetBook };
  embed: Backends['embed'];
  /** By which other gateways, and it itself, know this one. */
  gatewayId: string;
}

/** What one process believes of the presets before it asks its store again. */
const presetsBelievedMs = 200;

/** Models, tools and presets: everything that a chat asks. A preset is a model, and a tool, and asks all three itself. */
export function composeChat(config: Config, surroundings: Surroundings): ChatParts {
  const { registry, send, callBrowser, extensions, now, newId, logger } = surroundings;
  const { backends, embed } = createBackends(config, send);
  const presets = createPresetStore({ registry, fixed: config.presets, now, believedMs: presetsBelievedMs });
  const models = withPresets(createModelCatalog({ backends: surroundings.backends ?? backends, now }), presets);
  const { chatMemory, spareMemory } = surroundings;
  const chats = forgetWithChats(surroundings.chats, [...Object.values(chatMemory), spareMemory]);
  const history = config.storeChats ? [createHistoryTool(chats)] : [];
  const ask = createSubAgentRunner(() => services);
  const gatewayId = newId();
  const tools = createToolCatalog({
    registry,
    send,
    clientVersion: version,
    gatewayId,
    callBrowser,
    browserToolTimeoutMs: config.browserToolTimeoutMs,
    sources: [...history, ...extensions.sources, createPresetTools({ presets, ask })],
    now,
    onServerNews: logServerNews(logger),
  });
  const newCallId = (): string => `call_${newId()}`;
  const services: ChatParts['services'] = {
    models,
    tools,
    presets,
    continuations: createContinuations({
      store: chatMemory.continuation,
      spare: spareMemory,
      now,
      newCallId,
      onFault: (error) =>
        logger.error({ err: error }, "what ran beside a caller's own functions cannot be kept or read just now; a restart loses it"),
    }),
    settings: {
      taskModel: config.taskModel,
      taskModelExternal: config.taskModelExternal,
      selectionTemplate: config.selectionTemplate ?? defaultSelectionTemplate,
      contextTemplate: config.ragTemplate ?? defaultContextTemplate,
      functionCalling: config.functionCalling,
      maxToolRounds: config.maxToolRounds,
      toolTimeoutMs: config.toolTimeoutMs,
    },
    runtime: {
      ...createCallRuntime(config, { logger, now, newId }),
      ...surroundings.runtime,
      ...(extensions.hooks && { hooks: extensions.hooks }),
    },
    newCallId,
    now,
  };
  return { models, tools, presets, chats, services, embed, gatewayId };
}

/** The same store, where what is remembered about the chats of a caller is deleted with them. */
function forgetWithChats(chats: ChatStore, memories: readonly ChatMemory[]): ChatStore {
  return {
    ...chats,
    async deleteAllOf(callerId) {
      await Promise.all([chats.deleteAllOf(callerId), ...memories.map((memory) => memory.forgetAllOf(callerId))]);
    },
  };
}
