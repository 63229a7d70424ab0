import type { ApprovalRule } from '../user-input/approval.ts';

/** A change that a function makes to its chat. `null`: back to what the preset or the request has; absent: unchanged. */
export interface ConfigChange {
  /** Entries as in `tool_ids`: all registered tools from now on. */
  toolIds?: string[] | null;
  /** In place of the preset's system prompt. */
  instructions?: string | null;
}

/** What functions and hand-offs have changed in a chat. It holds for later requests of the chat that name the same model. */
export interface ChatConfig {
  /** The preset that the conversation was handed over to; absent: the model that the requests name. */
  preset?: string;
  /** The approval rule of the presets that handed it over. */
  approvalRule?: ApprovalRule;
  toolIds?: string[];
  instructions?: string;
  /** `tool_ids` of the request in which this was changed. A request with another list has chosen anew. */
  askedToolIds?: string[];
  /** The time of the last change, in milliseconds since 1970. */
  created: number;
}

/** A caller's conversation (`conversationOf`), and the model that its requests name. */
export interface ConfiguredChat {
  callerId: string;
  conversation: string;
  model: string;
}

/** Keeps what was changed in chats. Never rejects: a chat whose record cannot be read goes on as its requests say. */
export interface ChatConfigs {
  find(chat: ConfiguredChat): Promise<ChatConfig | undefined>;
  /** `undefined` forgets it. */
  save(chat: ConfiguredChat, config: ChatConfig | undefined): Promise<void>;
}
