import { waitUnlessAborted } from '../../../shared/async/wait-for.ts';

/** A chat in the queue of its conversation. */
export interface QueuedChat {
  /** Waits until the earlier chats of the conversation have ended. @throws the controller's reason */
  toBegin(): Promise<void>;
  /** Cancels the earlier chats, those that have not begun too. */
  interrupt(reason: Error): void;
  /** This chat brought the whole conversation, so what earlier ones add is no longer stored. */
  replace(): void;
  readonly isReplaced: boolean;
  /** To be called at the end of the chat. */
  end(): void;
}

/** Chats of one conversation answer in the order in which they came, because each needs the answers before it. */
interface ConversationQueues {
  join(key: string, controller: AbortController): QueuedChat;
}

interface Member {
  controller: AbortController;
  over: PromiseWithResolvers<void>;
}

export function createConversationQueues(): ConversationQueues {
  /** Only conversations with chats that have not ended. */
  const conversations = new Map<string, { members: Set<Member>; replacedBy?: number; count: number }>();

  return {
    join(key, controller) {
      const conversation = conversations.get(key) ?? { members: new Set(), count: 0 };
      conversations.set(key, conversation);
      const earlier = [...conversation.members];
      const number = (conversation.count += 1);
      const self: Member = { controller, over: Promise.withResolvers() };
      conversation.members.add(self);
      return {
        async toBegin() {
          await waitUnlessAborted(Promise.all(earlier.map(({ over }) => over.promise)), controller.signal);
        },
        interrupt(reason) {
          for (const member of earlier) member.controller.abort(reason);
        },
        replace() {
          conversation.replacedBy = Math.max(number, conversation.replacedBy ?? 0);
        },
        get isReplaced() {
          return (conversation.replacedBy ?? 0) > number;
        },
        end() {
          conversation.members.delete(self);
          if (conversation.members.size === 0) conversations.delete(key);
          self.over.resolve();
        },
      };
    },
  };
}
