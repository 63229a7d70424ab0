import { isDeepStrictEqual } from 'node:util';
import type { AnswerPiece } from '../../../src/chat/parse-tool-calls/answer-pieces.ts';
import { createToolCallParser } from '../../../src/chat/parse-tool-calls/tool-call-parser.ts';
import type { ToolCallParserOptions } from '../../../src/chat/parse-tool-calls/tool-call-parser.ts';
import { fitToolCall } from '../../../src/chat/tool-calls/prepare-tool-call.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { compileSchema } from '../../../src/validation/compile-schema.ts';
import type { Tool, ToolSpec } from '../../../src/core/tools/tool.ts';

export interface ReadAnswer {
  calls: { name: string; arguments: unknown }[];
  refused: { name: string | undefined; arguments: unknown }[];
  content: string;
  reasoning: string;
}

/** Pieces of a text that arrives in the given chunks, neighbouring texts joined. */
export function piecesOf(chunks: readonly string[], options: ToolCallParserOptions, isCut = false): AnswerPiece[] {
  const parser = createToolCallParser(options);
  return joined([...chunks.flatMap((chunk) => parser.push(chunk)), ...parser.flush({ isCut })]);
}

export function joined(pieces: readonly AnswerPiece[]): AnswerPiece[] {
  const result: AnswerPiece[] = [];
  for (const piece of pieces) {
    const last = result.at(-1);
    if ((piece.type === 'text' || piece.type === 'reasoning') && last?.type === piece.type) last.text += piece.text;
    else result.push({ ...piece });
  }
  return result;
}

export function specOf(name: string, properties: JsonObject = {}): ToolSpec {
  return { name, description: '', parameters: { type: 'object', properties } };
}

/** What the loop makes of the pieces: names found, arguments fitted to the schemas and checked. */
export function judge(pieces: readonly AnswerPiece[], specs: readonly ToolSpec[]): ReadAnswer {
  const tools = new Map<string, Tool>(
    specs.map((spec) => [
      spec.name,
      { spec, label: spec.name, server: 's', kind: 'function', run: () => Promise.reject(new Error('not run')) },
    ]),
  );
  const answer: ReadAnswer = { calls: [], refused: [], content: '', reasoning: '' };
  for (const piece of pieces) {
    if (piece.type === 'text') answer.content += piece.text;
    else if (piece.type === 'reasoning') answer.reasoning += piece.text;
    else if (piece.type === 'retraction') answer.calls = [];
    else if (piece.type === 'damaged') answer.refused.push({ name: piece.name, arguments: piece.arguments });
    else if (piece.type === 'call') {
      const fitted = fitToolCall({ id: '1', name: piece.name, arguments: JSON.stringify(piece.arguments) }, tools);
      const isFit = fitted.type === 'ready' && (compileSchema(fitted.tool.spec.parameters)?.(fitted.args) ?? []).length === 0;
      if (isFit) answer.calls.push({ name: fitted.tool.spec.name, arguments: fitted.args });
      else answer.refused.push({ name: piece.name, arguments: piece.arguments });
    }
  }
  return answer;
}

export interface OutputCase {
  id: string;
  family: string;
  policy: 'prompt' | 'rescue' | 'both';
  tools: ToolSpec[];
  text: string;
  finish_reason: string;
  options?: { think_open?: boolean; mode?: string };
  expect: {
    calls: { name: string; arguments: JsonObject }[];
    content: string | null;
    reasoning: string | null;
    invalid?: { name: string; arguments: JsonObject }[];
    forbid?: string[];
    loose?: string[];
  };
}

/** Differences between what was read and what is expected, by the rules of the data set's README; empty when they agree. */
export function differences(read: ReadAnswer, { expect }: OutputCase): string[] {
  const found: string[] = [];
  const isLoose = (part: string): boolean => expect.loose?.includes(part) === true;
  if (!isLoose('calls') && !isDeepStrictEqual(read.calls, expect.calls)) found.push(`calls: ${JSON.stringify(read.calls)}`);
  const ignoresSpace = expect.calls.length > 0 || (expect.reasoning ?? '') !== '';
  const plain = (text: string | null): string => (ignoresSpace ? (text ?? '').replaceAll(/\s/g, '') : (text ?? '').trim());
  if (!isLoose('content') && plain(read.content) !== plain(expect.content)) found.push(`content: ${JSON.stringify(read.content)}`);
  if (!isLoose('reasoning') && plain(read.reasoning) !== plain(expect.reasoning))
    found.push(`reasoning: ${JSON.stringify(read.reasoning)}`);
  for (const name of expect.forbid ?? []) if (read.calls.some((call) => call.name === name)) found.push(`forbidden: ${name}`);
  return found;
}
