import { createDefaultModel } from '../../http/dialects/socket/default-model.ts';
import { createKeptConversations } from '../../http/dialects/socket/kept-conversations.ts';
import { createSessionAnswers, startSocketChat } from '../../http/dialects/socket/start-socket-chat.ts';
import type { ModelCatalog } from '../../models/catalog/model-catalog.ts';
import type { BrowserRelay } from '../../relay/browser-relay.ts';
import type { ActiveRuns } from '../../runs/active-runs.ts';
import type { Storage } from './compose-storage.ts';

/** Chats over WebSockets. */
export interface Sockets {
  startChat: ReturnType<typeof startSocketChat>;
  answerToSession: ReturnType<typeof createSessionAnswers>;
  defaultModel: ReturnType<typeof createDefaultModel>;
}

interface SocketParts {
  storage: Storage;
  runs: ActiveRuns;
  relay: BrowserRelay;
  models: ModelCatalog;
  log: Parameters<typeof createSessionAnswers>[0]['log'];
  now: () => number;
}

export function composeSockets({ storage, runs, relay, models, log, now }: SocketParts): Sockets {
  const conversations = createKeptConversations({
    store: storage.noteStores.conversation,
    fallback: storage.fallbackNotes,
    now,
    onFault: (error) => log.error({ err: error }, 'conversations over sockets cannot be stored at the moment; a restart loses them'),
  });
  return {
    startChat: startSocketChat({ runs, conversations }),
    answerToSession: createSessionAnswers({ runs, relay, log }),
    defaultModel: createDefaultModel(models),
  };
}
