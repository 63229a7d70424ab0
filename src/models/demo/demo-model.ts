import { setImmediate as nextTick } from 'node:timers/promises';
import { textOf, type ChatMessage, type ModelEvent, type Usage } from '../../core/chat/chat.ts';
import type { ModelBackend, ModelRecord, ModelRequest } from '../../core/models/model.ts';
import type { ToolSpec } from '../../core/tools/tool.ts';
import type { Emit } from '../../shared/async/emit.ts';
import { makeCallId } from '../../shared/text/call-ids.ts';

export const demoModel: ModelRecord = {
  id: 'demo',
  owner: 'demo',
  isLocal: true,
  // 2026-01-01, because a stand-in has no birthday and a list must not change by itself.
  created: 1_767_225_600,
  capabilities: ['completion', 'tools'],
  details: { name: 'Demo (rule-based, not a language model)' },
};

export interface DemoOptions {
  /** Milliseconds since 1970, for questions such as "how long since …". */
  now?: () => number;
  newCallId?: () => string;
}

/** Words between two ticks of the event loop, so that others are served while a long answer is given. */
const wordsPerTick = 32;

/**
 * A rule-based stand-in for a model: it chooses functions for a question by what they look like, natively or in a selection pass, and
 * quotes their results. The same conversation gives the same answer, but for call ids and the clock. It says what it is and knows nothing.
 */
export function createDemoBackend({ now = Date.now, newCallId = makeCallId }: DemoOptions = {}): ModelBackend {
  return {
    async answer(request, emit) {
      request.signal.throwIfAborted();
      // With its first question: most gateways have models, and reading dates takes a package.
      const { offeredTo, replyTo } = await import('./reply.ts');
      const reply = replyTo(request, now());
      if (reply.calls === undefined) await emitWords(reply.text, request.signal, emit);
      const calls = (reply.calls ?? []).map(({ name, args }): ModelEvent => {
        return { type: 'tool-call', call: { id: newCallId(), name, arguments: JSON.stringify(args) } };
      });
      const written = reply.calls === undefined ? reply.text : JSON.stringify(reply.calls);
      const usage: ModelEvent = { type: 'usage', usage: usageOf(request, offeredTo(request), written) };
      await emit([...calls, usage, { type: 'finish', reason: reply.calls === undefined ? 'stop' : 'tool_calls' }]);
    },
  };
}

/** One event for each word, so that the answer streams like that of a model. */
async function emitWords(text: string, signal: AbortSignal, emit: Emit<ModelEvent>): Promise<void> {
  const words = Array.from(text.matchAll(/\s{0,99}\S+/gu), ([word]): ModelEvent => ({ type: 'text', text: word }));
  for (let start = 0; start < words.length; start += wordsPerTick) {
    if (start > 0) await nextTick();
    signal.throwIfAborted();
    await emit(words.slice(start, start + wordsPerTick));
  }
}

/** Words stand for tokens. */
function usageOf({ messages }: ModelRequest, offered: readonly ToolSpec[], reply: string): Usage {
  const read = messages.reduce((sum, message) => sum + wordsIn(message), 0);
  const prompt = read + offered.reduce((sum, spec) => sum + countWords(JSON.stringify(spec)), 0);
  const completion = countWords(reply);
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}

function wordsIn(message: ChatMessage): number {
  const calls = message.role === 'assistant' ? message.toolCalls.map((call) => `${call.name} ${call.arguments}`).join(' ') : '';
  return countWords(`${textOf(message.content)} ${calls}`);
}

function countWords(text: string): number {
  return text.match(/[\p{L}\p{N}]+/gu)?.length ?? 0;
}
