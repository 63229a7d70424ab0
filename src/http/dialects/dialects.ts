import type { ChatRequest } from '../../core/chat/chat.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import { chatCompletions } from './chat-completions/chat-completions.ts';
import { completions } from './completions/completions.ts';
import type { Dialect } from './dialect.ts';
import { messages } from './messages/messages.ts';
import { ollamaChat } from './ollama/ollama-chat.ts';
import { ollamaGenerate } from './ollama/ollama-generate.ts';
import { responses } from './responses/responses.ts';

/** Every dialect of chats over HTTP. */
export const dialects: readonly Dialect[] = [chatCompletions, responses, messages, ollamaChat, ollamaGenerate, completions];

/** How a run is answered whose request has been stored. */
export function storedReply(reply: ChatRequest['reply']): { dialect: Dialect; options: JsonObject } {
  const dialect = dialects.find(({ name }) => name === reply?.dialect);
  return { dialect: dialect ?? chatCompletions, options: reply?.options ?? {} };
}
