import type { ChatRequest } from '../../core/chat/chat.ts';
import type { GatewayError } from '../../core/errors.ts';
import type { ToolOffer } from '../../core/tools/tool.ts';
import { findToolsRefusal } from '../../shared/tools-refusal.ts';

/**
 * Whether a backend's refusal of tools may be remembered for the model, and so for all callers. Backends quote parts of a bad request in their
 * error messages. If the words that look like a refusal occur in the request itself, they prove nothing about the model; otherwise one caller could
 * disable tools for everybody.
 */
export function isRefusalByModel({ message }: GatewayError, request: ChatRequest, offer: ToolOffer): boolean {
  const words = findToolsRefusal(message);
  if (words === undefined) return true;
  const { model, messages, callerFunctions, hostedTools, toolChoice, parameters } = request;
  const specs = Array.from(offer.tools.values(), ({ spec }) => spec);
  return !mentions([model, messages, callerFunctions, hostedTools, toolChoice, parameters, specs], words);
}

/** Searches all strings and keys. The recursion is bounded by the nesting limit of requests. */
function mentions(value: unknown, words: string): boolean {
  if (typeof value === 'string') return value.includes(words);
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([key, entry]) => key.includes(words) || mentions(entry, words));
}
