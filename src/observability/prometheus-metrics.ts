import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Usage } from '../core/chat/chat.ts';
import type { EndedCall, EndedRun, Metrics, SpentTokens, ToolUse } from '../core/runs/metrics.ts';
import type { RoutingMetrics } from '../core/models/attempts.ts';
import { visibleText } from '../shared/text/visible-text.ts';

/** Values that are read when metrics are scraped. */
interface Gauges {
  activeRuns: () => number;
  /** Undefined while the store cannot be read. */
  approvalsWaiting: () => Promise<number | undefined>;
  sessions: () => number;
  sockets: () => number;
}

export interface PrometheusMetrics extends Metrics, RoutingMetrics {
  /** To be called once, before the first scrape. */
  observe(gauges: Gauges): void;
  /** A request to a backend or tool server has to wait, because all connections to it are in use. */
  countConnectionWait(): void;
  contentType: string;
  /** All metrics in Prometheus' text format. */
  text(): Promise<string>;
}

/**
 * Different values of a label, or of labels together; others count as `other`. Model names and functions come from requests and documents, and each
 * value takes memory for ever.
 */
const maxModels = 100;
const maxFunctions = 1_000;
const maxBackends = 100;
const other = 'other';
/** The id of a registered server, `functions`, `toolwharf`, or a preset; not the URL of a server that a request supplied, which may be `http:host`. */
const registeredServer = /^(?:[a-z0-9_-]+$|preset:)/;
/** Seconds. Local models take minutes, remote ones less than a second. */
const modelSeconds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const callSeconds = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

let ofProcess: Registry | undefined;

/**
 * `process_…` and `nodejs_…`: memory, CPU, delay of the event loop. Once for all gateways of a process: prom-client has no way to end its timer and its
 * observer, which would keep a closed gateway in memory.
 */
function metricsOfProcess(): Registry {
  if (ofProcess !== undefined) return ofProcess;
  ofProcess = new Registry();
  collectDefaultMetrics({ register: ofProcess });
  return ofProcess;
}

/** Metrics of one gateway, with those of its process. */
export function createPrometheusMetrics(): PrometheusMetrics {
  const registry = new Registry();
  const processRegistry = metricsOfProcess();
  const counters = createCounters(registry);
  const { upstreamErrors, runSeconds, repairs, connectionWaits } = counters;
  const { tallies, ofOutcome, ofModel, ofFunction, ofServer, ofRoute, ofAttempt, ofQueue } = createLookups(counters);

  function countTokens({ prompt, completion }: Pick<ReturnType<typeof ofModel>, 'prompt' | 'completion'>, usage: Usage | undefined): void {
    prompt.add(countOf(usage?.prompt_tokens));
    completion.add(countOf(usage?.completion_tokens));
  }

  function countFallbacks(fallbacks: NonNullable<SpentTokens['fallbacks']>): void {
    for (const { model, requests, usage } of fallbacks) {
      const ofFallback = ofModel(model);
      ofFallback.requests.add(requests);
      countTokens(ofFallback, usage);
    }
  }

  return {
    contentType: registry.contentType,
    async text() {
      for (const tally of tallies) tally.settle();
      return (await processRegistry.metrics()) + (await registry.metrics());
    },
    countRun({
      model,
      outcome,
      code,
      durationMs,
      firstTokenMs,
      modelRequests: count,
      repairedSelections,
      usage,
      fallbacks = [],
    }: EndedRun) {
      ofOutcome(outcome).add(1);
      runSeconds.observe(durationMs / 1_000);
      if (code?.startsWith('upstream_') === true) upstreamErrors.inc({ code });
      if (repairedSelections > 0) repairs.inc(repairedSelections);
      // No backend was asked, so the name may be anything.
      if (count === 0) return;
      countFallbacks(fallbacks);
      const ofThisModel = ofModel(model);
      ofThisModel.requests.add(count - fallbacks.reduce((sum, { requests }) => sum + requests, 0));
      if (firstTokenMs !== undefined) ofThisModel.firstToken.observe(firstTokenMs / 1_000);
      countTokens(ofThisModel, usage);
    },
    countToolUse({ model, usage, fallbacks = [] }: ToolUse) {
      countTokens(ofModel(model), usage);
      countFallbacks(fallbacks);
    },
    countCall({ server, tool, code, durationMs }: EndedCall) {
      const isRegistered = server !== undefined && registeredServer.test(server);
      const shown = isRegistered ? server : server === undefined ? 'none' : 'request';
      // A model or a request may write any name.
      ofFunction(shown, isRegistered ? tool : '', code ?? 'ok').add(1);
      ofServer(shown).observe(durationMs / 1_000);
    },
    countAttempt: (backend, outcome) => ofAttempt(backend, outcome).add(1),
    noteQueue: (backend, waiting) => ofQueue(backend).set(waiting),
    countConnectionWait: () => connectionWaits.inc(),
    countRequest({ method, route = 'none', status }) {
      ofRoute(method, route, String(status)).add(1);
    },
    observe({ activeRuns, approvalsWaiting, sessions, sockets }) {
      const gauge = (name: string, help: string, read: () => number | undefined | Promise<number | undefined>): void => {
        const created: Gauge = new Gauge({
          name,
          help,
          registers: [registry],
          async collect() {
            const value = await read();
            if (value === undefined) created.reset();
            else created.set(value);
          },
        });
      };
      gauge('toolwharf_active_runs', 'Runs under way', activeRuns);
      gauge('toolwharf_approvals_waiting', 'Suspended runs that wait for a decision', approvalsWaiting);
      gauge('toolwharf_sessions', 'Websocket sessions, those included that wait for their browser to come back', sessions);
      gauge('toolwharf_sockets', 'Open websockets', sockets);
    },
  };
}

/** What is counted, by the name of the metric. */
function createCounters(registry: Registry) {
  const registers = [registry];
  const requests = new Counter({
    name: 'toolwharf_http_requests_total',
    help: 'Answered HTTP requests, by the pattern of the route (none: an unknown path) and status',
    labelNames: ['method', 'route', 'status'],
    registers,
  });
  const runs = new Counter({ name: 'toolwharf_runs_total', help: 'Runs that ended, by outcome', labelNames: ['outcome'], registers });
  const upstreamErrors = new Counter({
    name: 'toolwharf_upstream_errors_total',
    help: 'Runs that failed because of the backend, by error code',
    labelNames: ['code'],
    registers,
  });
  const modelRequests = new Counter({
    name: 'toolwharf_model_requests_total',
    help: 'Requests to models: one for each round, and those of selections',
    labelNames: ['model'],
    registers,
  });
  const tokens = new Counter({
    name: 'toolwharf_tokens_total',
    help: 'Tokens as the backends count them, by kind: prompt, completion',
    labelNames: ['model', 'kind'],
    registers,
  });
  const firstToken = new Histogram({
    name: 'toolwharf_time_to_first_token_seconds',
    help: 'From the beginning of a run to the first text, reasoning or call of the model',
    labelNames: ['model'],
    buckets: modelSeconds,
    registers,
  });
  const runSeconds = new Histogram({ name: 'toolwharf_run_duration_seconds', help: 'Length of runs', buckets: modelSeconds, registers });
  const repairs = new Counter({ name: 'toolwharf_selection_repairs_total', help: 'Selections that were read after repair', registers });
  const connectionWaits = new Counter({
    name: 'toolwharf_connection_waits_total',
    help: 'Requests to backends and tool servers that waited because all connections were in use (UPSTREAM_MAX_CONNECTIONS)',
    registers,
  });
  const attempts = new Counter({
    name: 'toolwharf_backend_attempts_total',
    help: 'Requests to backends with several addresses or max_concurrent, by outcome: answered, down, failed, missing (no such model), refused',
    labelNames: ['backend', 'outcome'],
    registers,
  });
  const queue = new Gauge({
    name: 'toolwharf_backend_queue',
    help: 'Requests that wait for a backend with max_concurrent',
    labelNames: ['backend'],
    registers,
  });
  const calls = new Counter({
    name: 'toolwharf_tool_calls_total',
    help: 'Tool calls, by outcome (ok, or the error code). Those of servers that a request supplied count together as request, and of functions that were not on offer as none',
    labelNames: ['server', 'function', 'outcome'],
    registers,
  });
  const callTimes = new Histogram({
    name: 'toolwharf_tool_call_duration_seconds',
    help: 'Length of tool calls',
    labelNames: ['server'],
    buckets: callSeconds,
    registers,
  });
  return {
    requests,
    runs,
    upstreamErrors,
    modelRequests,
    tokens,
    firstToken,
    runSeconds,
    repairs,
    connectionWaits,
    attempts,
    queue,
    calls,
    callTimes,
  };
}

/** Finds counters by the values of their labels. `tallies`: those that have to be settled before metrics are read. */
function createLookups(counters: ReturnType<typeof createCounters>) {
  const { requests, runs, modelRequests, tokens, firstToken, attempts, queue, calls, callTimes } = counters;
  const tallies: Tally[] = [];
  function tallyOf(counter: Counted): Tally {
    const tally = new Tally(counter);
    tallies.push(tally);
    return tally;
  }
  const ofOutcome = cached((outcome: string) => tallyOf(runs.labels(outcome)));
  const ofModel = cached(
    (model: string) => ({
      requests: tallyOf(modelRequests.labels(model)),
      firstToken: firstToken.labels(model),
      prompt: tallyOf(tokens.labels(model, 'prompt')),
      completion: tallyOf(tokens.labels(model, 'completion')),
    }),
    maxModels,
  );
  const ofFunction = cached((server: string, name: string, outcome: string) => tallyOf(calls.labels(server, name, outcome)), maxFunctions);
  const ofServer = cached((server: string) => callTimes.labels(server), maxFunctions);
  const ofRoute = cached((method: string, route: string, status: string) => tallyOf(requests.labels(method, route, status)), maxFunctions);
  // A combination for each of five outcomes.
  const ofAttempt = cached((backend: string, outcome: string) => tallyOf(attempts.labels(backend, outcome)), 5 * maxBackends);
  const ofQueue = cached((backend: string) => queue.labels(backend), maxBackends);
  return { tallies, ofOutcome, ofModel, ofFunction, ofServer, ofRoute, ofAttempt, ofQueue };
}

/** A counter with its labels. */
interface Counted {
  inc(by: number): void;
}

/** Counts for a counter until metrics are read: prom-client looks up labels at each count. */
class Tally {
  readonly #counter: Counted;
  #count = 0;

  constructor(counter: Counted) {
    this.#counter = counter;
  }

  add(count: number): void {
    this.#count += count;
  }

  settle(): void {
    const count = this.#count;
    this.#count = 0;
    this.#counter.inc(count);
  }
}

/** Token counts come from backends; a counter refuses what is negative or no number. */
function countOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;
}

/**
 * Looks up the counter of label values once, which costs more than counting. Beyond `max` combinations the values count as `other`.
 */
function cached<Labels extends string[], Labelled>(
  create: (...labels: Labels) => Labelled,
  max = Infinity,
): (...labels: Labels) => Labelled {
  const known = new Map<string, Labelled>();
  const find = (labels: Labels): Labelled => {
    const key = labels.length === 1 ? (labels[0] ?? '') : labels.join('\n');
    const found = known.get(key);
    if (found !== undefined) return found;
    if (known.size >= max && labels.some((label) => label !== other)) return find(labels.map(() => other) as Labels);
    // Invisible characters could control the terminal or page that shows the metrics.
    const created = create(...(labels.map((label) => visibleText(label).replaceAll('\t', ' ')) as Labels));
    known.set(key, created);
    return created;
  };
  return (...labels) => find(labels);
}
