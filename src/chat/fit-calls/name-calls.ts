import type { ToolCall } from '../../core/chat/chat.ts';
import { findOfferedName } from './find-offered-name.ts';

/** A call with the offered name of its function. */
export interface NamedCall {
  call: ToolCall;
  /** The name as the model wrote it, if it was read as another. */
  written?: string;
  /** For a name that is not offered: those that the model may have meant. */
  candidates?: string[];
}

/**
 * Finds the offered name of a call. `offered`: all names at once, because a call of a caller's function must not end up at a similarly named function
 * of the gateway.
 */
export function nameCall(call: ToolCall, offered: readonly string[]): NamedCall {
  const match = findOfferedName(call.name, offered);
  switch (match.type) {
    case 'exact':
      return { call: match.name === call.name ? call : { ...call, name: match.name } };
    case 'repaired':
      return { call: { ...call, name: match.name }, written: call.name };
    case 'unknown':
      return { call, candidates: match.candidates };
  }
}
