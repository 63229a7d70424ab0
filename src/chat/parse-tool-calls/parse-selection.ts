import type { JsonObject } from '../../core/json.ts';
import { limits } from '../../core/limits.ts';
import type { ToolSpec } from '../../core/tool.ts';
import type { AnswerPiece, DamageReason } from './call-pieces.ts';
import { createToolCallParser } from './tool-call-parser.ts';

/** A call that a model wrote in its answer to the selection prompt; its name is not yet checked against the offer. */
export interface SelectedCall {
  name: string;
  arguments: JsonObject;
}

export interface Selection {
  calls: SelectedCall[];
  /** What had to be mended, for the run's `selection` event. */
  repairs: string[];
  /** What was meant as a call and must not run. */
  damaged: { name?: string; reason: DamageReason }[];
  /** False when no selection could be read at all, which is not the same as an empty one. */
  isReadable: boolean;
}

export interface SelectionReading {
  /** Functions on offer; with them more forms are understood, and values between tags get their types. */
  tools?: readonly ToolSpec[];
  /** The answer was ended by the token limit. */
  isCut?: boolean;
}

/**
 * Reads the answer to the selection prompt: `{"tool_calls":[{"name","parameters"}]}`, or calls in any of the forms that models were trained on,
 * with thinking, fences and prose around it. Nothing inside a thinking block is ever a call. A call that is repeated counts once.
 */
export function parseSelection(answer: string, { tools = [], isCut = false }: SelectionReading = {}): Selection {
  const parser = createToolCallParser({ tools });
  const isTooLong = answer.length > limits.argumentsBytes;
  const pieces = [...parser.push(answer.slice(0, limits.argumentsBytes)), ...parser.flush({ isCut: isCut || isTooLong })];
  const selection: Selection = { calls: [], repairs: [], damaged: [], isReadable: false };
  const seen = new Set<string>();
  for (const piece of pieces.slice(pieces.findLastIndex((piece) => piece.type === 'retraction') + 1)) {
    if (piece.type === 'damaged')
      selection.damaged.push({ ...(piece.name === undefined ? {} : { name: piece.name }), reason: piece.reason });
    if (piece.type === 'nothing-chosen') selection.isReadable = true;
    if (piece.type === 'call') addCall(selection, seen, piece);
  }
  return selection;
}

function addCall(selection: Selection, seen: Set<string>, piece: Extract<AnswerPiece, { type: 'call' }>): void {
  const call = { name: piece.name, arguments: piece.arguments };
  const text = JSON.stringify(call);
  selection.isReadable = true;
  if (seen.has(text) || selection.calls.length >= limits.callsPerRound) return;
  seen.add(text);
  selection.calls.push(call);
  for (const repair of piece.repairs) if (!selection.repairs.includes(repair)) selection.repairs.push(repair);
}
