import { isDeeperThan } from '../../../shared/json.ts';
import type { JsonObject } from '../../../shared/json.ts';
import { limits } from '../../../core/limits.ts';
import type { ToolSpec } from '../../../core/tools/tool.ts';
import { coerceArguments } from '../../tool-calls/coerce-arguments.ts';
import { findOfferedName } from '../../tool-calls/find-offered-name.ts';
import { findPlaceholder } from '../../parse-tool-calls/find-placeholder.ts';
import { runAside } from '../../../workers/run-aside.ts';
import { jobOf } from '../../../workers/worker-pool.ts';
import type { DamageReason } from '../../parse-tool-calls/answer-pieces.ts';
import { findSelection } from '../../parse-tool-calls/parse-selection.ts';
import type { Selection, SelectionAnswer } from '../../parse-tool-calls/parse-selection.ts';
import { argumentProblems, type CallingRun } from '../../tool-calls/prepare-tool-call.ts';

/** One call of a selection whose function is offered: with valid arguments (`fits`), or with problems that keep it from running (`faulty`). */
export type SelectedEntry =
  | { type: 'fits'; spec: ToolSpec; args: JsonObject }
  | { type: 'faulty'; spec: ToolSpec; problems: string[]; isCut: boolean };

export interface ReadSelection {
  /** In the order of the answer. */
  entries: SelectedEntry[];
  dropped: DroppedCall[];
  /** Descriptions of repairs, for the run's `selection` event. */
  repaired: string[];
  /** False when the answer holds no selection at all; an explicitly empty selection is readable. */
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

export interface ReadOptions {
  isCut: boolean;
  run: CallingRun;
  /** What the arguments of a function are checked against. Default: its parameters. */
  schemaOf?: (spec: ToolSpec) => JsonObject;
  earlierTexts?: readonly string[];
}

/**
 * Reads an answer to the selection prompt and matches its calls to the offered functions, tolerating shortened names and similar types.
 * @throws the run signal's reason
 */
export async function readSelection(
  answer: string,
  specs: readonly ToolSpec[],
  { isCut, run, schemaOf = (spec) => spec.parameters, earlierTexts = [] }: ReadOptions,
): Promise<ReadSelection> {
  const found = await findSelectionInWorker({ answer, tools: specs, isCut, earlierTexts }, run);
  const read: ReadSelection = { entries: [], dropped: [], repaired: [...found.repairs], isReadable: found.isReadable };
  for (const call of found.calls) await addCall(read, call, { specs, run, schemaOf });
  for (const name of found.restated) read.dropped.push({ name: name.slice(0, 200), reason: 'the answer states it once more' });
  for (const name of found.examples)
    read.dropped.push({ name: name.slice(0, 200), reason: 'it stands in an example, in a quotation, or after a refusal' });
  for (const { name, reason } of found.damaged) addDamaged(read, { name, reason }, specs);
  return read;
}

/** Maximal characters of the answer and of the earlier messages that are read on the main thread, which takes about twenty milliseconds. */
const inPlaceCharacters = { answer: 8_000, earlier: 200_000 };
/** Many times what the longest possible answer needs. */
const readingMs = 5_000;
const readingJob = jobOf<typeof findSelection>(new URL('../../parse-tool-calls/parse-selection.ts', import.meta.url), 'findSelection');

/** Uses a worker thread for long texts: a hostile one with many false starts of calls takes long to read. */
async function findSelectionInWorker(given: SelectionAnswer, run: CallingRun): Promise<Selection> {
  const { answer, earlierTexts } = given;
  const earlier = earlierTexts.reduce((sum, text) => sum + text.length, 0);
  if (answer.length <= inPlaceCharacters.answer && earlier <= inPlaceCharacters.earlier) return findSelection(given);
  const data = {
    ...given,
    answer: answer.slice(0, limits.selectionCharacters),
    isCut: given.isCut || answer.length > limits.selectionCharacters,
  };
  try {
    return await runAside({ job: readingJob, data, caller: run.caller.id, signal: run.signal, timeoutMs: readingMs });
  } catch {
    run.signal?.throwIfAborted();
    return { calls: [], repairs: [], restated: [], damaged: [], examples: [], isReadable: false };
  }
}

async function addCall(
  read: ReadSelection,
  call: { name: string; arguments: JsonObject },
  { specs, run, schemaOf }: Required<Pick<ReadOptions, 'run' | 'schemaOf'>> & { specs: readonly ToolSpec[] },
): Promise<void> {
  const spec = specOf(call.name, specs);
  if (spec === undefined) {
    read.dropped.push({ name: call.name.slice(0, 200), reason: damageInWords.unknown_name });
    return;
  }
  if (spec.name !== call.name) read.repaired.push(`name: "${call.name.slice(0, 200)}" read as "${spec.name}"`);
  const schema = schemaOf(spec);
  const { args, changes } = coerceArguments(call.arguments, schema);
  const problems = isDeeperThan(args, limits.jsonDepth) ? ['they are nested too deep'] : await argumentProblems(args, schema, run);
  const placeholder = problems.length > 0 ? undefined : findPlaceholder(args, schema);
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
