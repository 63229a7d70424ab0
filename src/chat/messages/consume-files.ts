import type { ChatMessage } from '../../core/chat/chat.ts';
import type { ModelBackend } from '../../core/models/model.ts';
import type { ToolOffer } from '../../core/tools/tool.ts';

type AddFiles = (messages: readonly ChatMessage[]) => ChatMessage[];

/** Adds files until one of the functions `consumers` was called for the latest user message; these handle the files themselves. */
export function untilConsumed(add: AddFiles, consumers: ReadonlySet<string>): AddFiles {
  if (consumers.size === 0) return add;
  return (messages) => {
    const question = messages.findLastIndex((message) => message.role === 'user');
    const isConsumed = messages.slice(question + 1).some((message) => {
      return message.role === 'assistant' && message.toolCalls.some((call) => consumers.has(call.name));
    });
    return isConsumed ? [...messages] : add(messages);
  };
}

const none: ReadonlySet<string> = new Set();

export function fileConsumersIn({ tools, finder }: ToolOffer): ReadonlySet<string> {
  if (tools.size === 0 && finder === undefined) return none;
  const all = [...tools, ...(finder?.deferred ?? [])];
  return new Set(all.flatMap(([name, tool]) => (tool.consumesFiles === true ? [name] : [])));
}

/** Adds the files to each model request, because they may have been consumed since the last one. */
export function withFilesAtEachTurn(backend: ModelBackend, add: AddFiles): ModelBackend {
  return { answer: (request, emit) => backend.answer({ ...request, messages: add(request.messages) }, emit) };
}
