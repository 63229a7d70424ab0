import type { ConsoleResults } from './console/measure-console.ts';
import type { Rest } from './measure-rest.ts';
import type { ChatCounts } from './counts/count-chats.ts';
import type { CorpusRow } from './measure-corpus.ts';
import { median } from './measure-latency.ts';
import type { Round } from './measure-load.ts';
import { pieceSizes } from './measure-parser.ts';
import type { ParserSpeeds } from './measure-parser.ts';
import type { WordsResult } from './measure-model-words.ts';
import type { SizeGoal, SizeResults } from './size/measure-size.ts';
import type { Stop } from './stops/measure-stops.ts';
import { middle, ratio } from './summary.ts';
import type { Goal, Results } from './summary.ts';

const print = (line = ''): void => void process.stdout.write(`${line}\n`);
const number = (value: number | undefined, digits = 0): string => (value === undefined ? '-' : value.toFixed(digits));

/** Rows of equal width; the first row is the heading, the first column stands left. */
function table(rows: string[][]): void {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  for (const row of rows) {
    print(row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join('  '));
  }
}

export function printResults(results: Results): void {
  for (const [scenario, rounds] of Object.entries(results.rounds)) printScenario(scenario, rounds);
  if (Object.keys(results.latency).length > 0) printLatency(results.latency);
  for (const [name, many] of Object.entries(results.manyStreams)) {
    const memory = many.peakResidentMb === undefined ? '' : `, at most ${number(many.peakResidentMb)} MB`;
    const cpu = many.cpuPerChunkUs === undefined ? '' : `, ${number(many.cpuPerChunkUs, 1)} us of CPU a chunk`;
    print(`${name}: ${many.streams} streams in ${number(many.seconds, 1)} s, ${many.wrong} wrong${memory}${cpu}`);
  }
  if (results.toolWork !== undefined) printParser(results.toolWork.parserMbPerSecond);
  print();
  printGoals(results.goals);
  const { machine } = results;
  print();
  print(
    `${machine.cpus} x ${machine.cpu}, Node ${machine.node}, ${machine.seconds.toFixed(0)} s; load ${machine.loadBefore.toFixed(1)} before, ${machine.loadAfter.toFixed(1)} after`,
  );
}

function printGoals(goals: readonly Goal[]): void {
  print('goals');
  for (const goal of goals) {
    const verdict = goal.found === undefined ? 'not measured' : goal.isMet ? 'met' : 'MISSED';
    print(`  ${verdict.padEnd(12)}  ${goal.name}: wanted ${goal.wanted}, found ${goal.found ?? 'nothing'}`);
  }
}

export function printCorpus(rows: readonly CorpusRow[], goals: readonly { goal: string; isMet: boolean }[]): void {
  const fewer = (tokens: number, others: number): string => `${number(100 * (1 - tokens / others))} %`;
  print('documents of OPENAPI_CORPUS, in tokens');
  table([
    ['document', 'functions', 'omitted', 'tokens', 'written out', 'fewer', 'with answers', 'fewer', 'least', 'ms'],
    ...rows.map(({ document, functions, omissions, tokens, naive, answers, least, milliseconds }) => [
      document,
      ...[functions, omissions, tokens, naive].map((count) => number(count)),
      fewer(tokens, naive),
      number(answers),
      fewer(tokens, answers),
      number(least),
      number(milliseconds),
    ]),
  ]);
  print();
  for (const { goal, isMet } of goals) print(`${isMet ? 'met   ' : 'MISSED'} ${goal}`);
  if (rows.length === 0) print('OPENAPI_CORPUS names no folder with documents.');
}

export function printCounts(counts: ReadonlyMap<string, ChatCounts>, against?: ReadonlyMap<string, ChatCounts>): void {
  const columns = (of: ChatCounts | undefined): string[] => [number(of && of.bytes / 1000, 1), number(of?.calls)];
  print("a chat, by what is allocated on V8's heap and by calls of functions of src");
  table([
    ['', 'kB', 'calls', ...(against ? ['kB against', 'calls against'] : [])],
    ...Array.from(counts, ([name, of]) => [name, ...columns(of), ...(against ? columns(against.get(name)) : [])]),
  ]);
  print('most called, per chat of json-tools');
  for (const [name, calls] of counts.get('json-tools')?.callsByFunction.slice(0, 30) ?? [])
    print(`  ${calls.toFixed(1).padStart(7)}  ${name}`);
}

export function printRests(rests: readonly Rest[]): void {
  print('CPU of a chat after a rest, in us (times of a warm one), and resident memory at the end of the rest');
  const row = ({ restSeconds, afterRest, warm, residentMb }: Rest): string[] => {
    const seconds = afterRest.map((us) => `${number(us)} (${(us / warm).toFixed(2)})`);
    return [`${restSeconds} s`, number(warm), ...seconds, number(residentMb)];
  };
  table([['rest', 'warm', 'first second', 'second', 'third', 'MB'], ...rests.map(row)]);
}

export function printSize({ small, large }: SizeResults, goals: readonly SizeGoal[]): void {
  print('a chat in a small and in a large installation');
  table([
    ['', 'kB small', 'kB large', 'calls small', 'calls large'],
    ...Array.from(large.chats, ([name, { bytes, calls }]) => {
      const before = small.chats.get(name);
      return [name, number(before && before.bytes / 1000, 1), number(bytes / 1000, 1), number(before?.calls), number(calls)];
    }),
  ]);
  print('longest stop of the event loop in ms of computing, statements of SQL and rows read');
  table([
    ['', 'stop small', 'stop large', 'statements', 'rows'],
    ...Array.from(large.steps, ([name, { stopMs, statements, rows }]) => {
      const before = small.steps.get(name);
      return [name, number(before?.stopMs), number(stopMs), number(statements), number(rows)];
    }),
  ]);
  for (const { what, said, isMet } of goals) print(`${isMet ? 'ok    ' : 'MISSED'} ${what}: ${said}`);
}

export function printWords(words: readonly WordsResult[]): void {
  const rows = words.map(({ name, cases, right, missed, wrong, before }) => [
    name,
    number(cases),
    `${right} of ${right + missed}`,
    number(wrong),
    before === undefined ? '-' : `${before.counts.right}`,
    before === undefined ? '-' : `${before.counts.wrong}`,
    before?.date ?? '-',
  ]);
  print("calls in models' words");
  table([['', 'answers', 'right calls', 'wrong calls', 'right before', 'wrong before', 'before']].concat(rows));
  print();
}

export function printConsole({ cases, firstLoad, heapMb, gatewayMb }: ConsoleResults, goals: readonly Goal[]): void {
  const spread = (values: readonly number[]): string => `${number(median(values))} (${number(Math.max(...values))})`;
  print('longest tasks of the console, in ms: the middle of the repetitions, and the worst');
  table([
    ['', 'computing', 'in all', 'above 50 ms', 'nodes', 'times'],
    ...Object.entries(cases).map(([name, watched]) => [
      name,
      spread(watched.map(({ longestCpuMs }) => longestCpuMs)),
      spread(watched.map(({ longestMs }) => longestMs)),
      spread(watched.map(({ long }) => long)),
      number(Math.max(...watched.map(({ nodes }) => nodes))),
      number(watched.length),
    ]),
  ]);
  print();
  print(`the chat page can be used after ${number(firstLoad.usableMs)} ms`);
  if (heapMb !== undefined)
    print(`heap with one chat ${number(heapMb.one, 1)} MB, when fifty have been opened ${number(heapMb.fifty, 1)} MB`);
  print(`memory of the gateway at rest ${number(gatewayMb.before)} MB, after ten loads of the page ${number(gatewayMb.after)} MB`);
  print();
  printGoals(goals);
}

export function printStops(stops: readonly Stop[]): void {
  const rows = stops.map(({ name, longestMs, limitMs, slowestHealthMs, said, isMet }) => [
    name,
    longestMs === undefined ? 'frozen' : number(longestMs),
    number(limitMs),
    number(slowestHealthMs),
    isMet ? 'met' : 'MISSED',
    said,
  ]);
  print('stops of the event loop');
  table([['', 'longest ms of CPU', 'limit', 'slowest /health ms', '', 'outcome'], ...rows]);
  print();
}

/** Each form of answer in each size of pieces. */
function printParser(speeds: ParserSpeeds): void {
  print('\nparser, MB/s');
  const sizes = pieceSizes.map((size) => (size === Number.MAX_SAFE_INTEGER ? 'whole' : `by ${size}`));
  table([['', ...sizes], ...Object.entries(speeds).map(([form, found]) => [form, ...found.map((speed) => speed.toFixed(0))])]);
}

function printScenario(scenario: string, rounds: Record<string, Round[]>): void {
  const direct = middle(rounds['direct'], (round) => round.meanMs);
  const rows = [
    [
      '',
      'req/s',
      'to direct',
      'to pass-through',
      'mean ms',
      'added',
      'first byte',
      'p99',
      'CPU %',
      'us/req',
      'us/chunk',
      'to pass-through',
      'MB',
    ],
  ];
  for (const [target, own] of Object.entries(rounds)) {
    const ofDirect = ratio(own, rounds['direct'], (round) => round.perSecond);
    const ofPassThrough = ratio(own, rounds['pass-through'], (round) => round.perSecond);
    const cpuRatio = ratio(own, rounds['pass-through'], (round) => round.cpuPerAnswerUs);
    const mean = middle(own, (round) => round.meanMs);
    rows.push([
      target,
      number(middle(own, (round) => round.perSecond)),
      number(ofDirect?.middle, 2),
      number(ofPassThrough?.middle, 2),
      number(mean, 2),
      number(mean === undefined || direct === undefined ? undefined : mean - direct, 2),
      number(
        middle(own, (round) => round.meanFirstByteMs),
        2,
      ),
      number(
        middle(own, (round) => round.p99Ms),
        1,
      ),
      number(middle(own, (round) => round.cpuPercent)),
      number(middle(own, (round) => round.cpuPerAnswerUs)),
      number(
        middle(own, (round) => round.cpuPerChunkUs),
        1,
      ),
      number(cpuRatio?.middle, 2),
      number(middle(own, (round) => round.residentMb)),
    ]);
  }
  print(scenario);
  table(rows);
  print();
}

function printLatency(latency: Results['latency']): void {
  const middleOf = (target: string, figure: 'jsonMs' | 'firstByteMs' | 'streamMs'): number =>
    median((latency[target] ?? []).map((round) => round[figure]));
  const rows = [['', 'json ms', 'added', 'first byte ms', 'added', 'stream ms', 'added']];
  for (const target of Object.keys(latency)) {
    const cells = (['jsonMs', 'firstByteMs', 'streamMs'] as const).flatMap((figure) => [
      number(middleOf(target, figure), 3),
      number(middleOf(target, figure) - middleOf('direct', figure), 3),
    ]);
    rows.push([target, ...cells]);
  }
  print('one at a time, in turn');
  table(rows);
  print();
}
