import { isDeepStrictEqual } from 'node:util';
import { readSelection } from '../../../src/chat/modes/prompt/read-selection.ts';
import type { ToolSpec } from '../../../src/core/tools/tool.ts';
import { judge, piecesOf } from './judge-output.ts';
import { offeredFunctions } from './model-words.ts';
import type { MeantCall, ModelWords } from './model-words.ts';

/** Right: ran and was meant. Missed: was meant and did not run. Wrong: ran and was not meant, or with other arguments. */
export interface CallCounts {
  cases: number;
  right: number;
  missed: number;
  wrong: number;
}

const run = { caller: { id: 'local' } };

async function callsInSelection(text: string, specs: readonly ToolSpec[], isCut: boolean): Promise<MeantCall[]> {
  // As in the run: of an answer that was cut nothing runs.
  if (isCut) return [];
  const { entries, wordsAround } = await readSelection(text, specs, { isCut, run });
  // Of a model that answers the same when it is asked once more.
  if (wordsAround === 'contrary') return [];
  return entries.flatMap((entry) => (entry.type === 'fits' ? [{ name: entry.spec.name, arguments: entry.args }] : []));
}

export interface WrittenAnswer extends Pick<ModelWords, 'path' | 'text'> {
  tools?: readonly ToolSpec[];
  isCut?: boolean;
}

/** What runs of an answer; `chunks`: how a native one arrives. */
export async function callsIn(
  { path, text, tools = offeredFunctions, isCut = false }: WrittenAnswer,
  chunks: readonly string[] = [text],
): Promise<unknown[]> {
  if (path === 'selection') return await callsInSelection(text, tools, isCut);
  return judge(piecesOf(chunks, { tools, isNative: true, quotes: { isQuoted: () => false } }, isCut), tools).calls;
}

export function countCalls(ran: readonly unknown[], meant: readonly unknown[]): Omit<CallCounts, 'cases'> {
  const left = [...meant];
  let wrong = 0;
  for (const call of ran) {
    const at = left.findIndex((other) => isDeepStrictEqual(other, call));
    if (at === -1) wrong += 1;
    else left.splice(at, 1);
  }
  return { right: meant.length - left.length, missed: left.length, wrong };
}
