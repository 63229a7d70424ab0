import type { ChatRequest } from '../../core/chat.ts';
import type { GatewayError } from '../../core/errors.ts';
import type { ToolOffer } from '../../core/tool.ts';
import { findToolsRefusal } from '../../shared/tools-refusal.ts';

/**
 * Whether a backend's refusal of tools may be remembered for everybody who uses the model. Backends repeat what was wrong in a request, so words that
 * stand in the request itself say nothing about the model: one caller could take the tools of all others away.
 */
export function isLessonOnModel({ message }: GatewayError, request: ChatRequest, offer: ToolOffer): boolean {
  const words = findToolsRefusal(message);
  if (words === undefined) return true;
  const { model, messages, callerFunctions, hostedTools, toolChoice, parameters } = request;
  const specs = Array.from(offer.tools.values(), ({ spec }) => spec);
  return !mentions([model, messages, callerFunctions, hostedTools, toolChoice, parameters, specs], words);
}

/** In any text or key, as deep as requests may be. */
function mentions(value: unknown, words: string): boolean {
  if (typeof value === 'string') return value.includes(words);
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([key, entry]) => key.includes(words) || mentions(entry, words));
}
