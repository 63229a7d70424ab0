import type { ChatEvent, ToolCall } from '../../core/chat/chat.ts';
import { limits } from '../../core/limits.ts';
import type { Tool, ToolOffer } from '../../core/tools/tool.ts';
import type { ToolCallResult } from '../tool-calls/tool-call-result.ts';
import { changeData, configUpdate } from './run-config.ts';

interface Offer {
  finder: ToolOffer['finder'];
  /** The current offer. */
  tools: Map<string, Tool>;
  /** Now, in milliseconds since 1970. */
  time: number;
}

/**
 * Offers the tools that a search has found from the next model request on. Changes `tools`, the current offer, in place, and returns the event that
 * reports it.
 */
export function offerFoundTools(offer: Offer, results: readonly ToolCallResult[]): ChatEvent[] {
  return bringIn(
    offer,
    results.flatMap(({ outcome }) => (outcome.type === 'result' ? (outcome.offers ?? []) : [])),
  );
}

/** Offers the tool that describes cut functions, once one of them is on offer. Changes `tools` in place. */
export function offerDescriber(describer: Tool | undefined, tools: Map<string, Tool>): void {
  if (describer === undefined || tools.has(describer.spec.name) || tools.size >= limits.toolsPerRequest) return;
  if (tools.values().some(({ whole }) => whole !== undefined)) tools.set(describer.spec.name, describer);
}

/**
 * Offers a deferred function that the model calls by its exact name, which it knows from earlier in the conversation. Must run before names are
 * matched, or a similar name on offer would be called instead.
 */
export function offerCalledTools(offer: Offer, calls: readonly ToolCall[]): ChatEvent[] {
  return bringIn(
    offer,
    calls.map(({ name }) => name.trim()),
  );
}

function bringIn({ finder, tools, time }: Offer, names: readonly string[]): ChatEvent[] {
  const found = new Set(names.flatMap((name) => finder?.deferred.get(name) ?? []).filter((tool) => !tools.has(tool.spec.name)));
  // Providers refuse requests with more tools; the last ones found are dropped.
  const added = [...found].slice(0, Math.max(0, limits.toolsPerRequest - tools.size));
  for (const tool of added) tools.set(tool.spec.name, tool);
  if (added.length === 0) return [];
  return [configUpdate({ ...changeData({}, time), tools: tools.size, added: added.map((tool) => tool.spec.name), removed: [] })];
}
