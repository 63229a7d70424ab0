import { chatCompletionsWire } from './chat-wires.ts';
import { usualAnswer } from './measure-parser.ts';
import type { ColdStart } from './measure-cold-start.ts';
import type { Latency } from './measure-latency.ts';
import type { LargeDocument } from './measure-large-document.ts';
import type { McpToolCost } from './measure-mcp-tools.ts';
import type { ToolWork } from './measure-tool-work.ts';
import { median } from './measure-latency.ts';
import type { Round } from './measure-load.ts';
import type { ManyStreams } from './measure-many-streams.ts';

/** Everything one run measured; also the shape of the files in `results/`. */
export interface Results {
  machine: { node: string; cpu: string; cpus: number; loadBefore: number; loadAfter: number; startedAt: string; seconds: number };
  /** By scenario and target; one entry a round. */
  rounds: Record<string, Record<string, Round[]>>;
  /** By target; one entry a round. */
  latency: Record<string, Latency[]>;
  manyStreams: Record<string, ManyStreams>;
  coldStart: Record<string, ColdStart>;
  /** `undefined`: this run did not measure it. */
  largeDocument: LargeDocument | undefined;
  toolWork: ToolWork | undefined;
  mcpTools: McpToolCost | undefined;
  goals: Goal[];
}

export interface Goal {
  name: string;
  wanted: string;
  /** `undefined`: this run did not measure it. */
  found: string | undefined;
  isMet: boolean;
}

/** The figure of the middle round. */
export function middle(rounds: readonly Round[] | undefined, figure: (round: Round) => number | undefined): number | undefined {
  const values = (rounds ?? []).map(figure).filter((value) => value !== undefined);
  return values.length === 0 ? undefined : median(values);
}

/**
 * The middle of the ratios of rounds that stood beside each other: a machine that is slow for a while is slow for both.
 * The least and the greatest say how much to believe it.
 */
export function ratio(
  ours: readonly Round[] | undefined,
  theirs: readonly Round[] | undefined,
  figure: (round: Round) => number | undefined,
): { middle: number; least: number; greatest: number } | undefined {
  const ratios = (ours ?? []).flatMap((round, index) => {
    const other = theirs?.[index];
    const [above, below] = [figure(round), other === undefined ? undefined : figure(other)];
    return above === undefined || below === undefined || below === 0 ? [] : [above / below];
  });
  if (ratios.length === 0) return undefined;
  return { middle: median(ratios), least: Math.min(...ratios), greatest: Math.max(...ratios) };
}

const manyStreamsMb = 200;
const emptyCacheMs = 350;
const warmCacheMs = 250;
const idleMb = 95;
/** CPU time of a chat, of the bare pass-through's in the same run. */
const mostCpu = { json: 1.33, 'json-tools': 1.8, burst: 1.05, paced: 1.1, 'paced-tools': 1.3 };
/** CPU time of a chat in another dialect, of the same chat's in chat completions. */
const mostDialectCpu = 1.15;
const addedFirstTokenUs = 650;
const documentMs = 3_000;
const healthMs = 100;
const documentMb = 200;

export function goalsOf(
  results: Pick<Results, 'rounds' | 'latency' | 'manyStreams' | 'coldStart' | 'largeDocument' | 'toolWork' | 'mcpTools'>,
): Goal[] {
  const goals: Goal[] = [];
  for (const [scenario, most] of Object.entries(mostCpu)) {
    const rounds = results.rounds[scenario];
    const cost = ratio(rounds?.['toolwharf'], rounds?.['pass-through'], (round) => round.cpuPerAnswerUs);
    goals.push({
      name: `${scenario}: CPU, of the pass-through's`,
      wanted: `<= ${most.toFixed(2)}`,
      found: cost && `${cost.middle.toFixed(2)} (${cost.least.toFixed(2)} to ${cost.greatest.toFixed(2)})`,
      isMet: cost !== undefined && cost.middle <= most,
    });
  }
  goals.push(...dialectGoals(results.rounds), firstTokenGoal(results.latency));
  // The sources carry what strips their types.
  const many = results.manyStreams['npm start'];
  goals.push(
    {
      name: '1,000 concurrent streams, byte for byte',
      wanted: '0 wrong',
      found: many && [`${many.wrong} of ${many.streams} wrong`, ...many.reasons].join('; '),
      isMet: many?.wrong === 0,
    },
    {
      name: '1,000 concurrent streams, most memory',
      wanted: `< ${manyStreamsMb} MB`,
      found: many?.peakResidentMb === undefined ? undefined : `${many.peakResidentMb.toFixed(0)} MB`,
      isMet: (many?.peakResidentMb ?? Infinity) < manyStreamsMb,
    },
  );
  for (const [name, start] of Object.entries(results.coldStart)) {
    goals.push(...startGoals(name, start));
  }
  const large = results.largeDocument;
  if (large !== undefined) goals.push(...documentGoals(large));
  if (results.mcpTools !== undefined) {
    const { tools, addedMs } = results.mcpTools;
    const name = `${tools} MCP tools that a chat does not use`;
    goals.push({ name, wanted: '< 1 ms', found: `${addedMs.toFixed(2)} ms`, isMet: addedMs < 1 });
  }
  if (results.toolWork !== undefined) goals.push(...workGoals(results.toolWork, results.rounds['burst']?.['toolwharf']));
  return goals;
}

function dialectGoals(rounds: Results['rounds']): Goal[] {
  return ['dialects', 'dialects-burst'].flatMap((scenario) => {
    const { [chatCompletionsWire.name]: base, ...others } = rounds[scenario] ?? {};
    return Object.entries(others).map(([wire, own]) => {
      const cost = ratio(own, base, (round) => round.cpuPerAnswerUs);
      return {
        name: `${scenario}: CPU of ${wire}, of chat completions`,
        wanted: `<= ${mostDialectCpu.toFixed(2)}`,
        found: cost && `${cost.middle.toFixed(2)} (${cost.least.toFixed(2)} to ${cost.greatest.toFixed(2)})`,
        isMet: cost !== undefined && cost.middle <= mostDialectCpu,
      };
    });
  });
}

/** What one question at a time waits longer for its first chunk than at the backend itself; the middle of the rounds. */
function firstTokenGoal(latency: Results['latency']): Goal {
  const [direct, own] = ['direct', 'toolwharf'].map((target) => latency[target]?.map(({ firstByteMs }) => firstByteMs));
  const addedUs = direct === undefined || own === undefined ? undefined : (median(own) - median(direct)) * 1_000;
  return {
    name: 'time to the first chunk, more than at the backend itself',
    wanted: `<= ${addedFirstTokenUs} us`,
    found: addedUs === undefined ? undefined : `${addedUs.toFixed(0)} us`,
    isMet: addedUs !== undefined && addedUs <= addedFirstTokenUs,
  };
}

/** A plain chat is the streamed one of 50 chunks, through the door; only a run that measures it can say what the log is to it. */
function workGoals(work: ToolWork, plain: readonly Round[] | undefined): Goal[] {
  const { roundMs, functionCallMs, requestMs, runUs, loggedRunUs, parserMbPerSecond } = work;
  const logUs = loggedRunUs - runUs;
  const chatUs = middle(plain, (round) => round.cpuPerAnswerUs);
  const share = chatUs === undefined ? undefined : logUs / chatUs;
  const parser = Math.min(...(parserMbPerSecond[usualAnswer] ?? [0]));
  return [
    {
      name: 'a round of tool calling, beside model and tool',
      wanted: '<= 0.3 ms',
      found: `${roundMs.toFixed(3)} ms`,
      isMet: roundMs <= 0.3,
    },
    {
      name: 'a call of a function of this process, beside its own work',
      wanted: '< 0.3 ms',
      found: `${functionCallMs.toFixed(3)} ms`,
      isMet: functionCallMs < 0.3,
    },
    { name: 'a request to a tool server, beside the network', wanted: '< 1 ms', found: `${requestMs.toFixed(3)} ms`, isMet: requestMs < 1 },
    {
      name: 'the log of a run, of a plain chat of 50 chunks',
      wanted: '< 5 %',
      found: share === undefined ? undefined : `${(share * 100).toFixed(1)} % (${logUs.toFixed(0)} us)`,
      isMet: share !== undefined && share < 0.05,
    },
    {
      name: 'the parser: an answer of thoughts, words and a call, in pieces of 4 characters and more',
      wanted: '>= 20 MB/s',
      found: `${parser.toFixed(0)} MB/s`,
      isMet: parser >= 20,
    },
  ];
}

function startGoals(name: string, start: ColdStart): Goal[] {
  const shown = (middle: number, all: readonly number[]): string =>
    `${middle.toFixed(0)} ms (${Math.min(...all).toFixed(0)} to ${Math.max(...all).toFixed(0)})`;
  return [
    {
      name: `${name}: spawn to the first answer, compile cache filled`,
      wanted: `<= ${warmCacheMs} ms`,
      found: shown(start.warmCacheMs, start.allWarmMs),
      isMet: start.warmCacheMs <= warmCacheMs,
    },
    {
      name: `${name}: spawn to the first answer, compile cache empty`,
      wanted: `<= ${emptyCacheMs} ms`,
      found: shown(start.emptyCacheMs, start.allEmptyMs),
      isMet: start.emptyCacheMs <= emptyCacheMs,
    },
    {
      name: `${name}: memory at rest`,
      wanted: `<= ${idleMb} MB`,
      found: start.idleMb === undefined ? undefined : `${start.idleMb.toFixed(0)} MB`,
      isMet: (start.idleMb ?? Infinity) <= idleMb,
    },
  ];
}

function documentGoals(large: LargeDocument): Goal[] {
  const { document, megabytes, functions, loadedMs, slowestHealthMs, healthQuestions, addedMb } = large;
  const name = `a document of ${megabytes.toFixed(0)} MB (${document}, ${functions} functions)`;
  return [
    {
      name: `${name}: from the registration to its report`,
      wanted: `< ${documentMs} ms`,
      found: `${loadedMs.toFixed(0)} ms`,
      isMet: loadedMs < documentMs,
    },
    {
      name: `${name}: the slowest /health meanwhile`,
      wanted: `< ${healthMs} ms`,
      found: `${slowestHealthMs.toFixed(0)} ms of ${healthQuestions}`,
      isMet: slowestHealthMs < healthMs,
    },
    {
      name: `${name}: memory after collection, more than before`,
      wanted: `< ${documentMb} MB`,
      found: addedMb === undefined ? undefined : `${addedMb.toFixed(0)} MB`,
      isMet: addedMb !== undefined && addedMb < documentMb,
    },
  ];
}
