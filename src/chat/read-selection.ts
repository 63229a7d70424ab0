import { isDeeperThan } from '../core/json.ts';
import type { JsonObject } from '../core/json.ts';
import { limits } from '../core/limits.ts';
import type { ToolSpec } from '../core/tool.ts';
import { coerceArguments } from './coerce-arguments.ts';
import { findOfferedName } from './find-offered-name.ts';
import { findPlaceholder } from './find-placeholder.ts';
import type { AnswerPiece, DamageReason, ReadEntry } from './parse-tool-calls/call-pieces.ts';
import { parseSelection } from './parse-tool-calls/parse-selection.ts';
import type { SelectionReading } from './parse-tool-calls/parse-selection.ts';
import { createToolCallParser } from './parse-tool-calls/tool-call-parser.ts';
import { argumentProblems, type CallingRun } from './prepare-tool-call.ts';

/** One call of a selection: it fits, or its function is known and it must not run as it is. */
export type SelectedEntry =
  | { type: 'fits'; spec: ToolSpec; args: JsonObject }
  | { type: 'faulty'; spec: ToolSpec; problems: string[]; isCut: boolean };

export interface ReadSelection {
  /** In the order of the answer. */
  entries: SelectedEntry[];
  dropped: DroppedCall[];
  /** What had to be mended, for the run's `selection` event. */
  repaired: string[];
  /** False when no selection could be read at all, which is not the same as an empty one. */
  isReadable: boolean;
}

export interface DroppedCall extends JsonObject {
  name: string;
  reason: string;
}

const damageInWords: Readonly<Record<DamageReason, string>> = {
  truncated: 'the answer ended inside the call',
  malformed: 'the arguments are not a JSON object',
  ambiguous: 'it holds no name, or two different sets of arguments',
  unknown_name: 'no such function is offered',
  too_large: 'it is too large',
};

/**
 * Reads an answer to the selection prompt and fits its calls to the functions on offer: shortened names and near types are understood.
 * @throws the run signal's reason
 */
export async function readSelection(
  answer: string,
  specs: readonly ToolSpec[],
  { isCut, run, isQuoted }: { isCut: boolean; run: CallingRun; isQuoted?: SelectionReading['isQuoted'] },
): Promise<ReadSelection> {
  const found = piecesOf(answer, { tools: specs, isCut, ...(isQuoted && { isQuoted }) });
  const read: ReadSelection = { entries: [], dropped: [], repaired: [...found.repairs], isReadable: found.isReadable };
  for (const call of found.calls) await addCall(read, call, { specs, run });
  for (const name of found.restated) read.dropped.push({ name: name.slice(0, 200), reason: 'the answer states it once more' });
  for (const name of found.examples)
    read.dropped.push({ name: name.slice(0, 200), reason: 'it stands in an example, in a quotation, or behind a refusal' });
  for (const { name, reason } of found.damaged) addDamaged(read, { name, reason }, specs);
  return read;
}

type Found = ReturnType<typeof parseSelection>;

const thoughtEnd = /<\/(?:think|thinking|reason|reasoning|thought)>/i;
const thoughtBeginning = /<(?:think|thinking|reason|reasoning|thought)>/i;

/**
 * What stands behind the end of a thought whose beginning the chat template wrote. Nobody reads a selection but the gateway, so that wherever such an
 * end stands, calls behind it outweigh those before it.
 */
function behindThought(answer: string): string | undefined {
  const end = thoughtEnd.exec(answer);
  return end === null || thoughtBeginning.test(answer.slice(0, end.index)) ? undefined : answer.slice(end.index + end[0].length);
}

/** Some models that were asked for JSON answer in the labels of thought and action. */
function piecesOf(answer: string, reading: Required<Pick<SelectionReading, 'tools' | 'isCut'>> & SelectionReading): Found {
  const { tools, isCut } = reading;
  const rest = behindThought(answer);
  const decided = rest === undefined ? undefined : parseSelection(rest, reading);
  if (decided !== undefined && decided.calls.length > 0) return decided;
  const plain = parseSelection(answer, reading);
  if (plain.isReadable || plain.damaged.length > 0) return plain;
  const parser = createToolCallParser({ tools, isReact: true, isSelection: true });
  const first = [...parser.push(answer), ...parser.flush({ isCut })].find((piece) => isEntry(piece));
  if (first === undefined || first.isBare === true) return plain;
  if (first.type === 'damaged') return { ...plain, damaged: [first] };
  return { ...plain, calls: [first], repairs: first.repairs, isReadable: true };
}

function isEntry(piece: AnswerPiece): piece is ReadEntry {
  return piece.type === 'call' || piece.type === 'damaged';
}

async function addCall(
  read: ReadSelection,
  call: { name: string; arguments: JsonObject },
  { specs, run }: { specs: readonly ToolSpec[]; run: CallingRun },
): Promise<void> {
  const spec = specOf(call.name, specs);
  if (spec === undefined) {
    read.dropped.push({ name: call.name.slice(0, 200), reason: damageInWords.unknown_name });
    return;
  }
  if (spec.name !== call.name) read.repaired.push(`name: "${call.name.slice(0, 200)}" read as "${spec.name}"`);
  const { args, changes } = coerceArguments(call.arguments, spec.parameters);
  const problems = isDeeperThan(args, limits.jsonDepth) ? ['they are nested too deep'] : await argumentProblems(args, spec.parameters, run);
  const placeholder = problems.length > 0 ? undefined : findPlaceholder(args, spec.parameters);
  if (placeholder !== undefined) problems.push(`${placeholder}: a placeholder stands where a value is needed`);
  if (problems.length > 0) read.entries.push({ type: 'faulty', spec, problems, isCut: false });
  else {
    read.repaired.push(...changes);
    read.entries.push({ type: 'fits', spec, args });
  }
}

function addDamaged(
  read: ReadSelection,
  { name, reason }: { name: string | undefined; reason: DamageReason },
  specs: readonly ToolSpec[],
): void {
  const spec = specOf(name ?? '', specs);
  if (spec === undefined) read.dropped.push({ name: (name ?? '').slice(0, 200), reason: damageInWords[reason] });
  else read.entries.push({ type: 'faulty', spec, problems: [damageInWords[reason]], isCut: reason === 'truncated' });
}

function specOf(name: string, specs: readonly ToolSpec[]): ToolSpec | undefined {
  const match = findOfferedName(
    name,
    specs.map((spec) => spec.name),
  );
  return match.type === 'unknown' ? undefined : specs.find((spec) => spec.name === match.name);
}
