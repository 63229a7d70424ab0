import { createDefaultModel } from '../../http/dialects/socket/default-model.ts';
import { createKeptConversations } from '../../http/dialects/socket/kept-conversations.ts';
import { createSessionAnswers, startSocketChat } from '../../http/dialects/socket/start-socket-chat.ts';
import type { ModelCatalog } from '../../models/catalog/model-catalog.ts';
import type { BrowserRelay } from '../../relay/browser-relay.ts';
import type { StartOrContinue } from '../../runs/start-or-continue.ts';
import type { Storage } from './compose-storage.ts';

/** Chats over WebSockets. */
export interface Sockets {
  startChat: ReturnType<typeof startSocketChat>;
  answerToSession: ReturnType<typeof createSessionAnswers>;
  defaultModel: ReturnType<typeof createDefaultModel>;
}

interface SocketParts {
  storage: Storage;
  startRun: StartOrContinue;
  relay: BrowserRelay;
  models: ModelCatalog;
  log: Parameters<typeof createSessionAnswers>[0]['log'];
  now: () => number;
}

export function composeSockets({ storage, startRun, relay, models, log, now }: SocketParts): Sockets {
  const conversations = createKeptConversations({
    store: storage.noteStores.conversation,
    fallback: storage.fallbackNotes,
    now,
    onFault: (error) => log.error({ err: error }, 'conversations over sockets cannot be stored at the moment; a restart loses them'),
  });
  return {
    startChat: startSocketChat({ startRun, conversations }),
    answerToSession: createSessionAnswers({ startRun, relay, log }),
    defaultModel: createDefaultModel(models),
  };
}
