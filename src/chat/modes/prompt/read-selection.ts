import { isDeeperThan, type JsonObject } from '../../../shared/json/json.ts';
import { limits } from '../../../core/limits.ts';
import type { ToolSpec } from '../../../core/tools/tool.ts';
import { findOfferedName } from '../../fit-calls/find-offered-name.ts';
import { fitArguments, strictRules, type FittingRules } from '../../fit-calls/fit-arguments.ts';
import { findPlaceholder } from '../../parse-tool-calls/find-placeholder.ts';
import { runInWorker } from '../../../workers/run-in-worker.ts';
import { jobOf } from '../../../workers/worker-pool.ts';
import type { DamageReason } from '../../parse-tool-calls/answer-pieces.ts';
import {
  findSelectionInPlace,
  type findSelectionAsText,
  type Selection,
  type SelectionAnswer,
} from '../../parse-tool-calls/selection/parse-selection.ts';
import type { WordsAround } from '../../parse-tool-calls/selection/words-around.ts';
import { checkArguments, type CallingRun } from '../../tool-calls/prepare-tool-call.ts';
import { parseAsWritten } from '../../../shared/json/parse-exactly.ts';

/** Characters of an answer that are searched for a selection: one call with the longest arguments fits. */
const selectionCharacters = 300_000;

/**
 * One call of a selection whose function is offered: with valid arguments (`fits`), or with problems that keep it from running (`faulty`). `given`: the
 * arguments as the model wrote them; `written`: the name, likewise.
 */
export type SelectedEntry =
  | { type: 'fits'; spec: ToolSpec; written: string; args: JsonObject; given: JsonObject }
  | { type: 'faulty'; spec: ToolSpec; written: string; problems: string[]; isCut: boolean };

export interface ReadSelection {
  /** In the order of the answer. */
  entries: SelectedEntry[];
  dropped: DroppedCall[];
  /** Descriptions of repairs, for the run's `selection` event. */
  repaired: string[];
  wordsAround: WordsAround;
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
  /** Default: a function may change something. */
  rulesOf?: (spec: ToolSpec) => FittingRules;
  earlierTexts?: readonly string[];
}

/**
 * Reads an answer to the selection prompt and matches its calls to the offered functions, tolerating shortened names and similar types.
 * @throws the run signal's reason
 */
export async function readSelection(
  answer: string,
  specs: readonly ToolSpec[],
  { isCut, run, schemaOf = (spec) => spec.parameters, rulesOf = () => strictRules, earlierTexts = [] }: ReadOptions,
): Promise<ReadSelection> {
  const found = await findSelectionInWorker({ answer, tools: specs, isCut, earlierTexts }, run);
  const { wordsAround, isReadable } = found;
  const read: ReadSelection = { entries: [], dropped: [], repaired: [...found.repairs], wordsAround, isReadable };
  const checked = await Promise.all(found.calls.map((call) => checkCall(call, { specs, run, schemaOf, rulesOf })));
  for (const call of checked) addCall(read, call);
  for (const name of found.restated) read.dropped.push({ name: name.slice(0, 200), reason: 'the answer states it once more' });
  for (const name of found.examples)
    read.dropped.push({ name: name.slice(0, 200), reason: 'it appears in an example, in a quotation, or after a refusal' });
  for (const { name, reason } of found.damaged) addDamaged(read, { name, reason }, specs);
  return read;
}

/** Maximal characters of the answer and of the earlier messages that are read on the main thread, which takes about twenty milliseconds. */
const inPlaceCharacters = { answer: 8_000, earlier: 200_000 };
/** Many times what the longest possible answer needs. */
const readingMs = 5_000;
const readingJob = jobOf<typeof findSelectionAsText>(
  new URL('../../parse-tool-calls/selection/parse-selection.ts', import.meta.url),
  'findSelectionAsText',
);

/** Uses a worker thread for long texts: a hostile one with many false starts of calls takes long to read. */
async function findSelectionInWorker(given: SelectionAnswer, run: CallingRun): Promise<Selection> {
  const { answer, earlierTexts } = given;
  const earlier = earlierTexts.reduce((sum, text) => sum + text.length, 0);
  const isShort = answer.length <= inPlaceCharacters.answer && earlier <= inPlaceCharacters.earlier;
  const found = isShort ? findSelectionInPlace(given) : undefined;
  if (found !== undefined) return found;
  const data = {
    ...given,
    answer: answer.slice(0, selectionCharacters),
    isCut: given.isCut || answer.length > selectionCharacters,
  };
  try {
    const text = await runInWorker({ job: readingJob, data, caller: run.caller.id, signal: run.signal, timeoutMs: readingMs });
    return parseAsWritten(text) as unknown as Selection;
  } catch {
    run.signal?.throwIfAborted();
    return { calls: [], repairs: [], restated: [], damaged: [], examples: [], wordsAround: 'harmless', isReadable: false };
  }
}

type CheckedCall = { entry: SelectedEntry; repairs: string[] } | { dropped: DroppedCall };

async function checkCall(
  call: { name: string; arguments: JsonObject },
  { specs, run, schemaOf, rulesOf }: Required<Pick<ReadOptions, 'run' | 'schemaOf' | 'rulesOf'>> & { specs: readonly ToolSpec[] },
): Promise<CheckedCall> {
  const spec = specOf(call.name, specs);
  if (spec === undefined) return { dropped: { name: call.name.slice(0, 200), reason: damageInWords.unknown_name } };
  const repairs = spec.name === call.name ? [] : [`name: "${call.name.slice(0, 200)}" read as "${spec.name}"`];
  const schema = schemaOf(spec);
  const fitted = fitArguments(call.arguments, schema, rulesOf(spec));
  const problems = [...fitted.problems, ...(await problemsOf(fitted.args, schema, run))];
  if (problems.length > 0) return { entry: { type: 'faulty', spec, written: call.name, problems, isCut: false }, repairs };
  return {
    entry: { type: 'fits', spec, written: call.name, args: fitted.args, given: call.arguments },
    repairs: [...repairs, ...fitted.repairs],
  };
}

/** A call whose check is not finished goes on: the loop checks each call itself before it runs, and refuses it in words. */
async function problemsOf(args: JsonObject, schema: JsonObject, run: CallingRun): Promise<string[]> {
  if (isDeeperThan(args, limits.jsonDepth)) return ['they are nested too deep'];
  const check = await checkArguments(args, schema, run);
  if (check.type === 'faulty') return check.errors;
  if (check.type === 'too_large') return ['they are too large to be checked'];
  const placeholder = findPlaceholder(args, schema);
  return placeholder === undefined ? [] : [`${placeholder}: a placeholder stands where a value is needed`];
}

function addCall(read: ReadSelection, call: CheckedCall): void {
  if ('dropped' in call) return void read.dropped.push(call.dropped);
  read.repaired.push(...call.repairs);
  read.entries.push(call.entry);
}

function addDamaged(
  read: ReadSelection,
  { name, reason }: { name: string | undefined; reason: DamageReason },
  specs: readonly ToolSpec[],
): void {
  const spec = specOf(name ?? '', specs);
  if (spec === undefined) read.dropped.push({ name: (name ?? '').slice(0, 200), reason: damageInWords[reason] });
  else read.entries.push({ type: 'faulty', spec, written: name ?? '', problems: [damageInWords[reason]], isCut: reason === 'truncated' });
}

function specOf(name: string, specs: readonly ToolSpec[]): ToolSpec | undefined {
  const match = findOfferedName(
    name,
    specs.map((spec) => spec.name),
  );
  return match.type === 'unknown' ? undefined : specs.find((spec) => spec.name === match.name);
}
