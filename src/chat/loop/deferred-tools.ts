import type { ChatEvent, ToolCall } from '../../core/chat.ts';
import { limits } from '../../core/limits.ts';
import type { Tool, ToolOffer } from '../../core/tool.ts';
import type { ToolCallResult } from '../tool-calls/tool-call-result.ts';

type Finder = ToolOffer['finder'];

/** What a search has found can be called from the next turn on. `tools`, what is on offer, is changed in place; gives the event that says so. */
export function offerFoundTools(finder: Finder, tools: Map<string, Tool>, results: readonly ToolCallResult[]): ChatEvent[] {
  return bringIn(
    finder,
    tools,
    results.flatMap(({ outcome }) => (outcome.type === 'result' ? (outcome.offers ?? []) : [])),
  );
}

/**
 * A deferred function that is called by its exact name, which the model knows from earlier in the conversation: it may be called as those on offer
 * may. Before names are matched, or a like name on offer would be taken for it.
 */
export function offerCalledTools(finder: Finder, tools: Map<string, Tool>, calls: readonly ToolCall[]): ChatEvent[] {
  return bringIn(
    finder,
    tools,
    calls.map(({ name }) => name.trim()),
  );
}

function bringIn(finder: Finder, tools: Map<string, Tool>, names: readonly string[]): ChatEvent[] {
  const found = new Set(names.flatMap((name) => finder?.deferred.get(name) ?? []).filter((tool) => !tools.has(tool.spec.name)));
  // Beyond this no provider takes the request; what was found last is then left out.
  const added = [...found].slice(0, Math.max(0, limits.toolsPerRequest - tools.size));
  for (const tool of added) tools.set(tool.spec.name, tool);
  if (added.length === 0) return [];
  const data = { tools: tools.size, added: added.map((tool) => tool.spec.name), removed: [] };
  return [{ type: 'run-event', event: { type: 'config.update', data } }];
}
