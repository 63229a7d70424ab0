import type { CallBrowser } from '../../core/tools/browser-call.ts';
import type { LessonMemory } from '../../core/models/model.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import type { RunSubAgent } from '../../core/tools/tool.ts';
import { createHistoryTool } from '../../tools/catalog/history-tool.ts';
import { createPresetTools } from '../../tools/catalog/preset-tools.ts';
import { createToolCatalog } from '../../tools/catalog/tool-catalog.ts';
import type { ToolCatalog } from '../../tools/catalog/tool-catalog.ts';
import type { AppContext } from '../app-context.ts';
import type { Extensions } from './compose-extensions.ts';
import type { Storage } from './compose-storage.ts';
import { logServerNews } from '../log-server-news.ts';
import { version } from '../version.ts';

interface ToolParts {
  storage: Storage;
  extensions: Extensions;
  runSubAgent: RunSubAgent;
  send: SendOutbound;
  lessons: LessonMemory;
  callBrowser: CallBrowser;
  /** Identifies this gateway to other gateways, and to itself, to detect loops. */
  gatewayId: string;
}

/** The catalog of tools: tool servers, MCP servers, the operator's functions, presets, and the search of stored chats. */
export function composeTools({ config, logger, now, elapsed }: AppContext, parts: ToolParts): ToolCatalog {
  const { storage, extensions, runSubAgent, send, lessons, callBrowser, gatewayId } = parts;
  const history = config.storeChats ? [createHistoryTool(storage.chats)] : [];
  return createToolCatalog({
    registry: storage.registry,
    credentials: storage.credentials,
    oauthClients: storage.oauthClients,
    publicUrl: config.publicUrl,
    send,
    lessons,
    clientVersion: version,
    gatewayId,
    callBrowser,
    browserToolTimeoutMs: config.browserToolTimeoutMs,
    sources: [...history, ...extensions.sources, createPresetTools({ presets: storage.presets, runSubAgent })],
    now,
    elapsed,
    onServerNews: logServerNews(logger),
  });
}
