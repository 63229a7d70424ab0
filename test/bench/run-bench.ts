import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { announcedPort, cpuMicroseconds, endAllChildren, killAllChildren, startNode } from './child-process.ts';
import { chatWires } from './chat-wires.ts';
import type { ChatWire } from './chat-wires.ts';
import type { Child } from './child-process.ts';
import { adminKey, startGateway } from './gateway-process.ts';
import type { Target } from './load-generator.ts';
import { countChats } from './counts/count-chats.ts';
import { consoleGoals } from './console/console-goals.ts';
import { measureConsole } from './console/measure-console.ts';
import { corpusGoals, measureCorpus } from './measure-corpus.ts';
import { measureColdStart } from './measure-cold-start.ts';
import { measureLargeDocument } from './measure-large-document.ts';
import { measureLatency } from './measure-latency.ts';
import { measureLoad } from './measure-load.ts';
import { measureManyStreams } from './measure-many-streams.ts';
import { printConsole, printCorpus, printCounts, printRests, printResults, printSize, printStops, printWords } from './print-results.ts';
import { measureRests } from './measure-rest.ts';
import { measureMcpTools } from './measure-mcp-tools.ts';
import { measureToolWork } from './measure-tool-work.ts';
import { measureModelWords } from './measure-model-words.ts';
import { measureStops } from './stops/measure-stops.ts';
import { measureSize, sizeGoals } from './size/measure-size.ts';
import { dialectScenarios, scenarios } from './scenarios.ts';
import { goalsOf } from './summary.ts';
import type { Results } from './summary.ts';

/** The whole run is ended after this time, whatever hangs. */
const longestRunMs = 30 * 60 * 1000;
const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const { values: options } = parseArgs({
  options: {
    /** Another checkout, measured beside this one in the same run. */
    against: { type: 'string' },
    /** Some of: json, json-tools, json-prompt, burst, paced, paced-tools, dialects, dialects-burst, latency, many, cold, document, work, mcp, words, and stops, corpus, console, counts, rest and size, which run only by their names. */
    only: { type: 'string' },
    /** Of `stops` and `console`: a pattern that the names of its cases must match. */
    case: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '3.5' },
  },
});
const wanted = options.only?.split(',');
const isNamedAlone = ['stops', 'corpus', 'console', 'counts', 'rest', 'size'].includes(options.only ?? '');
const isWanted = (name: string): boolean => wanted === undefined || wanted.includes(name);
const roundCount = Number(options.rounds);
const durationMs = Number(options.seconds) * 1000;
const print = (text: string): void => void process.stdout.write(`${text}\n`);
const note = (text: string): void => void process.stderr.write(`${text}\n`);

const folder = mkdtempSync(join(tmpdir(), 'toolwharf-bench-'));
process.once('exit', () => {
  killAllChildren();
  rmSync(folder, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
setTimeout(() => {
  note(`The run takes longer than ${longestRunMs / 1000} s and is ended.`);
  process.exit(1);
}, longestRunMs).unref();

async function startHelper(file: string, args: string[] = []): Promise<{ child: Child; url: string }> {
  const outputFile = join(mkdtempSync(join(folder, 'helper-')), 'log.txt');
  const child = startNode({ file: here(`./${file}`), args, folder, outputFile });
  return { child, url: `http://127.0.0.1:${await announcedPort(outputFile)}` };
}

/** A target with its process. */
type Started = Target & Pick<Child, 'end'>;

/** The demonstration registers the time server, as a default install does. */
const defaultTools = { TOOLWHARF_DEMO: 'true' };

async function startTargets(backendUrl: string): Promise<Started[]> {
  const headers = { authorization: `Bearer ${adminKey}` };
  const passThrough = await startHelper('pass-through.ts', [backendUrl]);
  const gateway = await startGateway({ file: here('../../src/toolwharf.js'), backendUrl, folder, environment: defaultTools });
  const targets: Started[] = [
    { name: 'direct', url: backendUrl, pid: undefined, headers: {}, end: async () => undefined },
    { name: 'pass-through', url: passThrough.url, headers: {}, ...passThrough.child },
    { name: 'toolwharf', headers, ...gateway },
  ];
  if (options.against !== undefined) {
    const other = await startGateway({ file: resolve(options.against, 'src/toolwharf.js'), backendUrl, folder, environment: defaultTools });
    targets.push({ name: 'against', headers, ...other });
  }
  return targets;
}

/** Makes what `npm start` makes after its first start, so that it is there. */
function keepBundle(): void {
  execFileSync(process.execPath, [here('../../src/packaging/keep-bundle.js')]);
}

type Measured = Omit<Results, 'goals' | 'machine'>;

async function measureRound(targets: readonly Target[], results: Measured, isForth: boolean): Promise<void> {
  for (const scenario of scenarios.filter(({ name }) => isWanted(name))) {
    for (const target of targets) {
      note(`  ${scenario.name}: ${target.name}`);
      // Of the backend alone only the height of the bar is wanted.
      const measured = await measureLoad(target, scenario, target.pid === undefined ? durationMs / 2 : durationMs);
      ((results.rounds[scenario.name] ??= {})[target.name] ??= []).push(measured);
    }
  }
  const gateway = targets.find(({ name }) => name === 'toolwharf');
  if (gateway !== undefined) await measureDialects(gateway, results, isForth ? chatWires : chatWires.toReversed());
  if (!isWanted('latency')) return;
  note('  one at a time');
  for (const [name, latency] of await measureLatency(targets, { json: 500, streams: 150 })) (results.latency[name] ??= []).push(latency);
}

async function measureDialects(gateway: Target, results: Measured, wires: readonly ChatWire[]): Promise<void> {
  for (const scenario of dialectScenarios.filter(({ name }) => isWanted(name))) {
    for (const wire of wires) {
      note(`  ${scenario.name}: ${wire.name}`);
      ((results.rounds[scenario.name] ??= {})[wire.name] ??= []).push(await measureLoad(gateway, { ...scenario, wire }, durationMs));
    }
  }
}

async function measure(): Promise<Results> {
  const startedAt = new Date();
  const loadBefore = loadavg()[0] ?? 0;
  const results: Measured = {
    rounds: {},
    latency: {},
    manyStreams: {},
    coldStart: {},
    largeDocument: undefined,
    toolWork: undefined,
    mcpTools: undefined,
  };
  const backend = await startHelper('mock-backend.ts');
  if (cpuMicroseconds(backend.child.pid) === undefined) note('There is no /proc here: figures of CPU time and memory are left out.');

  if (isWanted('cold')) {
    keepBundle();
    const programs = {
      sources: here('../../src/toolwharf.js'),
      'npm start': here('../../src/start.js'),
      dist: here('../../dist/toolwharf.js'),
      ...(options.against && { against: resolve(options.against, 'src/toolwharf.js') }),
    };
    for (const [name, file] of Object.entries(programs)) {
      note(`cold start of ${name}`);
      const start = await measureColdStart({ file, backendUrl: backend.url, folder }, 5);
      if (start !== undefined) results.coldStart[name] = start;
    }
  }

  if (isWanted('work')) {
    note('the work of a tool call');
    results.toolWork = await measureToolWork(mkdtempSync(join(folder, 'work-')));
  }
  if (isWanted('mcp')) {
    note('fifty MCP tools');
    results.mcpTools = await measureMcpTools();
  }
  if (isWanted('document')) {
    note('a large document');
    results.largeDocument = await measureLargeDocument(backend.url, folder);
  }

  const targets = await startTargets(backend.url);
  for (let round = 0; round < roundCount; round += 1) {
    note(`round ${round + 1} of ${roundCount}`);
    // Back and forth, so that no target always comes after the same one.
    const isForth = round % 2 === 0;
    await measureRound(isForth ? targets : targets.toReversed(), results, isForth);
  }
  if (isWanted('many')) {
    // In fresh processes, so that the memory is that of the streams and not what earlier rounds left behind.
    await Promise.all(targets.map((target) => target.end()));
    keepBundle();
    const bundled = await startGateway({ file: here('../../src/start.js'), backendUrl: backend.url, folder, environment: defaultTools });
    const bundle: Started = { name: 'npm start', headers: { authorization: `Bearer ${adminKey}` }, ...bundled };
    for (const target of [...(await startTargets(backend.url)), bundle]) {
      note(`1,000 streams: ${target.name}`);
      results.manyStreams[target.name] = await measureManyStreams(target, 1_000);
      await target.end();
    }
  }

  const machine = {
    node: process.versions.node,
    cpu: cpus()[0]?.model ?? 'unknown',
    cpus: cpus().length,
    loadBefore,
    loadAfter: loadavg()[0] ?? 0,
    startedAt: startedAt.toISOString(),
    seconds: (Date.now() - startedAt.getTime()) / 1000,
  };
  return { machine, ...results, goals: goalsOf(results) };
}

/** Whether the event loop stands still for what others send. A stop is ours, whatever the machine does: it is measured in computing time. */
async function runStops(): Promise<void> {
  note('stops of the event loop');
  const stops = await measureStops(folder, { note, ...(options.case !== undefined && { pattern: options.case }) });
  printStops(stops);
  if (stops.some(({ isMet }) => !isMet)) process.exitCode = 1;
}

/** A wrong call is ours. */
async function runWords(): Promise<void> {
  note('the words of models');
  const words = await measureModelWords();
  printWords(words);
  if (words.some(({ wrong }) => wrong > 0)) process.exitCode = 1;
}

/** What functions cost in tokens, over the documents of `OPENAPI_CORPUS`. */
async function runCorpus(): Promise<void> {
  note('real documents');
  const rows = await measureCorpus();
  const goals = corpusGoals(rows);
  printCorpus(rows, goals);
  if (goals.length === 0 || goals.some(({ isMet }) => !isMet)) process.exitCode = 1;
}

/** Whether the console is smooth, in a real browser. */
async function runConsole(): Promise<void> {
  note('the console');
  const pattern = options.case;
  const results = await measureConsole(folder, { repetitions: roundCount, note, ...(pattern !== undefined && { pattern }) });
  if (results === undefined) return;
  const goals = consoleGoals(results);
  printConsole(results, goals);
  print(
    `load of the machine ${loadavg()
      .map((load) => load.toFixed(1))
      .join(', ')}`,
  );
  if (goals.some(({ isMet }) => !isMet)) process.exitCode = 1;
}

/** What a chat costs in bytes and calls, whatever else the machine does. */
async function runCounts(): Promise<void> {
  note('bytes and own calls of a chat');
  printCounts(await countChats(here('../..')), options.against === undefined ? undefined : await countChats(resolve(options.against)));
}

/** What the first chats after a rest cost, of `npm start`. */
async function runRests(): Promise<void> {
  note('the first chats after a rest');
  keepBundle();
  const backend = await startHelper('mock-backend.ts');
  const gateway = await startGateway({ file: here('../../src/start.js'), backendUrl: backend.url, folder });
  const target = { name: 'npm start', headers: { authorization: `Bearer ${adminKey}` }, ...gateway };
  const rests = await measureRests(target, [20, 20, 20, 75]);
  if (rests === undefined) return note('There is no /proc here, so nothing can be measured.');
  printRests(rests);
}

/** Whether a chat costs the same in an installation of any size. A missed goal is ours: these are counts. */
async function runSize(): Promise<void> {
  note('sizes');
  const results = await measureSize(resolve(options.against ?? here('../..')), note);
  const goals = sizeGoals(results);
  printSize(results, goals);
  if (goals.some(({ isMet }) => !isMet)) process.exitCode = 1;
}

async function run(): Promise<void> {
  if (isWanted('words')) await runWords();
  if (options.only === 'words') return;
  if (wanted?.includes('stops') === true) await runStops();
  if (wanted?.includes('corpus') === true) await runCorpus();
  if (wanted?.includes('console') === true) await runConsole();
  if (wanted?.includes('counts') === true) await runCounts();
  if (wanted?.includes('rest') === true) await runRests();
  if (wanted?.includes('size') === true) await runSize();
  if (isNamedAlone) return;
  const results = await measure();
  printResults(results);
  mkdirSync(here('./results'), { recursive: true });
  writeFileSync(here('./results/latest.json'), `${JSON.stringify(results, null, 2)}\n`);
  // A missed goal may be the machine's; a wrong answer is ours.
  if (Object.values(results.manyStreams).some((many) => many.wrong > 0)) process.exitCode = 1;
}

try {
  await run();
} catch (error) {
  note(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exitCode = 1;
} finally {
  await endAllChildren();
}
