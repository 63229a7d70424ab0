import type { ToolCall } from '../../core/chat/chat.ts';
import type { Tool } from '../../core/tools/tool.ts';
import { findCallableName } from './find-offered-name.ts';

/** A call with the offered name of its function. */
export interface NamedCall {
  call: ToolCall;
  /** The name as the model wrote it, if it was read as another. */
  written?: string;
  /** For a name that is not offered: those that the model may have meant. */
  candidates?: string[];
}

/** Finds the offered name of a call: see `findCallableName`. */
export function nameCall(call: ToolCall, tools: ReadonlyMap<string, Tool>, callerNames?: Iterable<string>): NamedCall {
  const match = findCallableName(call.name, tools, callerNames);
  switch (match.type) {
    case 'exact':
      return { call: match.name === call.name ? call : { ...call, name: match.name } };
    case 'repaired':
      return { call: { ...call, name: match.name }, written: call.name };
    case 'unknown':
      return { call, candidates: match.candidates };
  }
}
