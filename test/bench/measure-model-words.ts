import { readFileSync } from 'node:fs';
import { callForms, formCases, formTools, writtenIn } from '../chat/parse-tool-calls/call-forms.ts';
import { callsIn, countCalls } from '../chat/parse-tool-calls/count-calls.ts';
import type { CallCounts } from '../chat/parse-tool-calls/count-calls.ts';
import { judge, piecesOf } from '../chat/parse-tool-calls/judge-output.ts';
import { modelWords } from '../chat/parse-tool-calls/model-words.ts';
import { expectedOf, optionsOf, recordedRuns } from '../chat/parse-tool-calls/recorded-outputs.ts';
import type { RecordedRun } from '../chat/parse-tool-calls/recorded-outputs.ts';

/** The calls in one set of answers, and in the same set when it was first counted. */
export interface WordsResult extends CallCounts {
  name: string;
  before: { date: string; counts: CallCounts } | undefined;
}

interface Before {
  date: string;
  sets: Record<string, CallCounts>;
}

/** How many of the calls that models mean run, and what runs that they do not mean: over the answers of this project and those of `MODEL_OUTPUTS`. */
export async function measureModelWords(): Promise<WordsResult[]> {
  const before = JSON.parse(readFileSync(new URL('./results/model-words-before.json', import.meta.url), 'utf8')) as Before;
  const results: WordsResult[] = [];
  const add = async (name: string, runs: Promise<Omit<CallCounts, 'cases'>>[]): Promise<void> => {
    const sum = { cases: runs.length, right: 0, missed: 0, wrong: 0 };
    for (const counts of await Promise.all(runs)) for (const key of ['right', 'missed', 'wrong'] as const) sum[key] += counts[key];
    const counts = before.sets[name];
    results.push({ name, ...sum, before: counts && { date: before.date, counts } });
  };
  for (const path of ['selection', 'native'] as const) {
    const words = modelWords.filter((answer) => answer.path === path);
    await add(
      `${path}, answers written here`,
      words.map(async (answer) => countCalls(await callsIn(answer), answer.calls)),
    );
  }
  for (const path of ['selection', 'native'] as const)
    await add(
      `${path}, each form written here`,
      callForms.flatMap((form) =>
        formCases.map(async (one) => countCalls(await callsIn({ path, text: writtenIn(form, one), tools: formTools }), one.calls)),
      ),
    );
  const recorded = (recordedRuns() ?? []).filter(({ output }) => output.expect.loose?.includes('calls') !== true);
  for (const [policy, name] of [
    ['prompt', 'selection, recorded answers'],
    ['rescue', 'native, recorded answers'],
  ] as const) {
    const runs = recorded.filter((run) => run.policy === policy && run.output.options?.mode !== 'react');
    if (runs.length > 0)
      await add(
        name,
        runs.map(async (run) => countCalls(await ranIn(run), expectedOf(run.output, policy).expect.calls)),
      );
  }
  return results;
}

async function ranIn({ policy, output }: RecordedRun): Promise<unknown[]> {
  const { text, tools, finish_reason: reason } = output;
  const isCut = reason === 'length';
  if (policy === 'prompt') return await callsIn({ path: 'selection', text, tools, isCut });
  return judge(piecesOf([text], optionsOf(output, policy), isCut), tools).calls;
}
