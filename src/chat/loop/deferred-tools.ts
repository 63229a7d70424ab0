import type { ChatEvent, ToolCall } from '../../core/chat.ts';
import { limits } from '../../core/limits.ts';
import type { Tool, ToolOffer } from '../../core/tool.ts';
import type { ToolCallResult } from '../tool-calls/tool-call-result.ts';

type Finder = ToolOffer['finder'];

/**
 * Offers the tools that a search has found from the next model request on. Changes `tools`, the current offer, in place, and returns the event that
 * reports it.
 */
export function offerFoundTools(finder: Finder, tools: Map<string, Tool>, results: readonly ToolCallResult[]): ChatEvent[] {
  return bringIn(
    finder,
    tools,
    results.flatMap(({ outcome }) => (outcome.type === 'result' ? (outcome.offers ?? []) : [])),
  );
}

/**
 * Offers a deferred function that the model calls by its exact name, which it knows from earlier in the conversation. Must run before names are
 * matched, or a similar name on offer would be called instead.
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
  // Providers refuse requests with more tools; the last ones found are dropped.
  const added = [...found].slice(0, Math.max(0, limits.toolsPerRequest - tools.size));
  for (const tool of added) tools.set(tool.spec.name, tool);
  if (added.length === 0) return [];
  const data = { tools: tools.size, added: added.map((tool) => tool.spec.name), removed: [] };
  return [{ type: 'run-event', event: { type: 'config.update', data } }];
}
