import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { corpusFiles, openCorpusDocument, readCorpusDocument } from '../_support/openapi-corpus.ts';
import { inlineNaively, inlineWithAnswer, naiveText } from './inline-naively.ts';
import { leastForm } from './least-form.ts';

/** What became of one document of `OPENAPI_CORPUS`, or of several together. */
export interface CorpusRow {
  document: string;
  functions: number;
  omissions: number;
  tokens: number;
  /** With every reference written out. */
  naive: number;
  /** As `naive`, with the schemas of answers. */
  answers: number;
  /** Of the smallest form that keeps what must not be lost. */
  least: number;
  milliseconds: number;
}

/** Documents of applications that people run at home. */
const homelab =
  /adguard|audiobookshelf|docker|forgejo|gotify|grocy|immich|mealie|nextcloud|ollama|opensubsonic|paperless|photoprism|seerr|sonarr|traccar/;

/** What functions cost a model in tokens, beside other forms of them, and how long a document takes; the last two rows are sums. */
export async function measureCorpus(): Promise<CorpusRow[]> {
  const rows: CorpusRow[] = [];
  for (const name of corpusFiles()) rows.push(await measureDocument(name));
  const home = rows.filter(({ document }) => homelab.test(document));
  return rows.length === 0 ? [] : [...rows, sumOf('homelab', home), sumOf('all', rows)];
}

/**
 * What is saved at least, over the documents of homelabs. The saving is what repetition, titles, redundant patterns and the like took; no field is
 * ever left out. Most of these documents refer to little that is large, so that names, types and words are what is left: `least` shows how far it could go.
 */
export function corpusGoals(rows: readonly CorpusRow[]): { goal: string; isMet: boolean }[] {
  const home = rows.find(({ document }) => document === 'homelab');
  if (home === undefined || home.naive === 0) return [];
  return [
    { goal: '17 % fewer tokens than with every reference written out', isMet: 1 - home.tokens / home.naive > 0.17 },
    { goal: '80 % fewer than with the schemas of answers as well', isMet: 1 - home.tokens / home.answers > 0.8 },
    { goal: 'no form that keeps what a call needs would save more than 35 %', isMet: 1 - home.least / home.naive < 0.35 },
  ];
}

async function measureDocument(name: string): Promise<CorpusRow> {
  const started = performance.now();
  const { operations, omitted } = (await openCorpusDocument(name)).conversion;
  const milliseconds = Math.round(performance.now() - started);
  const document = await readCorpusDocument(name);
  const tokens = (textOf: (operation: (typeof operations)[number]) => string): number =>
    operations.reduce((sum, operation) => sum + countTokens(textOf(operation), { allowedSpecial: 'all' }), 0);
  return {
    document: name,
    functions: operations.length,
    omissions: omitted.length,
    tokens: tokens(({ spec }) => JSON.stringify({ type: 'function', function: spec })),
    naive: tokens((operation) => naiveText(inlineNaively(document, operation))),
    answers: tokens((operation) => naiveText(inlineWithAnswer(document, operation))),
    least: tokens((operation) => JSON.stringify({ type: 'function', function: leastForm(operation) })),
    milliseconds,
  };
}

function sumOf(document: string, rows: readonly CorpusRow[]): CorpusRow {
  const sum = { document, functions: 0, omissions: 0, tokens: 0, naive: 0, answers: 0, least: 0, milliseconds: 0 };
  for (const row of rows)
    for (const key of ['functions', 'omissions', 'tokens', 'naive', 'answers', 'least', 'milliseconds'] as const) sum[key] += row[key];
  return sum;
}
