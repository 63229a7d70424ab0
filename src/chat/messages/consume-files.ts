import type { ChatMessage } from '../../core/chat/chat.ts';
import type { ModelBackend } from '../../core/models/model.ts';
import type { Tool, ToolOffer } from '../../core/tools/tool.ts';
import { keepFor } from '../../shared/keep-last.ts';

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

/** The names of functions that handle the files of the request themselves, offered or deferred. */
export function fileConsumersIn({ tools, finder }: ToolOffer): ReadonlySet<string> {
  // The deferred ones are all functions, the offered ones too.
  return consumersIn(finder?.deferred ?? tools);
}

const consumersIn = keepFor(
  (tools: ReadonlyMap<string, Tool>): ReadonlySet<string> =>
    new Set(Array.from(tools).flatMap(([name, tool]) => (tool.consumesFiles === true ? [name] : []))),
);

/** Adds the files to each model request, because they may have been consumed since the last one. */
export function withFilesAtEachTurn(backend: ModelBackend, add: AddFiles): ModelBackend {
  return { answer: (request, emit) => backend.answer({ ...request, messages: add(request.messages) }, emit) };
}
