import type { Page } from 'playwright-core';
import type { Run, RunSummary } from '../../../src/console/api/api-types.ts';

/** Runs with everything that can happen, which would take long to bring about. */

type Event = Run['events'][number];

const created = Date.now() - 40_000;
const at = (ms: number): string => new Date(created + ms).toISOString();
const event = (ms: number, type: string, data: Event['data']): Event => ({ type, time: at(ms), data });
const names = ['find_flights', 'book_flight', 'get_weather', 'currency_rates', 'travel_clerk'];
const usage = (sent: number, got: number) => ({ prompt_tokens: sent, completion_tokens: got, total_tokens: sent + got });

const events: Event[] = [
  event(20, 'run.start', { run_id: 'all', model: 'gpt-oss:20b', mode: 'native', tools: 5, functions: names }),
  event(25, 'warning', {
    code: 'tool_server_unreachable',
    message: 'The tool server "hotels" does not answer and was left out. Start it, or see its address.',
  }),
  event(30, 'model.request', {
    question: 1,
    purpose: 'round',
    mode: 'native',
    model: 'gpt-oss:20b',
    round: 1,
    max_rounds: 10,
    messages: 3,
    characters: 812,
    functions: 5,
    names,
  }),
  event(2_400, 'model.response', {
    question: 1,
    finish_reason: 'tool_calls',
    calls: 3,
    characters: 0,
    reasoning_characters: 420,
    first_token_ms: 900,
    usage: usage(1_412, 96),
    duration_ms: 2_370,
  }),
  event(2_410, 'tool.call', { id: 'c1', tool: 'get_weather', args: { city: 'Lisbon', days: 3 }, server: 'weather' }),
  event(2_415, 'tool.call', {
    id: 'c2',
    tool: 'currency_rates',
    args: { from: 'EUR', to: ['USD', 'GBP'] },
    server: 'money',
    repairs: ['to: a text read as a list'],
  }),
  event(2_420, 'tool.call', { id: 'c3', tool: 'travel_clerk', args: { request: 'Find a flight to Lisbon on Friday.' }, server: null }),
  event(2_700, 'tool.result', { id: 'c2', tool: 'currency_rates', response: { USD: 1.08, GBP: 0.85 }, duration_ms: 0, cached: true }),
  event(2_750, 'model.request', {
    question: 2,
    purpose: 'selection',
    mode: 'default',
    model: 'llama3.2:3b',
    preset: 'travel_clerk',
    within: 'c3',
    messages: 2,
    characters: 640,
    functions: 2,
    names: names.slice(0, 2),
  }),
  event(3_900, 'tool.progress', { id: 'c1', tool: 'get_weather', status: 'asks the second station' }),
  event(5_100, 'model.response', {
    question: 2,
    finish_reason: 'stop',
    calls: 0,
    characters: 120,
    first_token_ms: 400,
    usage: usage(702, 41),
    duration_ms: 2_350,
  }),
  event(5_110, 'selection', {
    model: 'llama3.2:3b',
    within: 'c3',
    asked: { query: 'Find a flight to Lisbon on Friday.', functions: 2, questions: 1 },
    found: ['find_flights'],
    dropped: [{ name: 'find_hotels', reason: 'no such function is offered' }],
    repaired: ['name: "findFlights" read as "find_flights"'],
  }),
  event(5_120, 'tool.call', { id: 'c3.1', tool: 'find_flights', args: { to: 'LIS', day: '2026-11-27' }, server: 'flights', within: 'c3' }),
  event(6_300, 'tool.result', {
    id: 'c1',
    tool: 'get_weather',
    duration_ms: 3_880,
    attempts: 3,
    error: {
      code: 'tool_timeout',
      message: 'get_weather did not answer within 3 s. Try again later, or ask the operator to raise TOOL_TIMEOUT_MS.',
      state: 'outcome_unknown',
    },
  }),
  event(7_000, 'tool.result', {
    id: 'c3.1',
    tool: 'find_flights',
    response: [
      { flight: 'TP 533', price: 189 },
      { flight: 'LH 1166', price: 240 },
    ],
    duration_ms: 1_870,
    within: 'c3',
  }),
  event(7_010, 'model.request', {
    question: 3,
    purpose: 'answer',
    mode: 'default',
    model: 'llama3.2:3b',
    preset: 'travel_clerk',
    within: 'c3',
    messages: 4,
    characters: 1_290,
    functions: 0,
  }),
  event(8_800, 'model.response', {
    question: 3,
    finish_reason: 'stop',
    calls: 0,
    characters: 310,
    first_token_ms: 350,
    usage: usage(910, 88),
    duration_ms: 1_790,
  }),
  event(8_820, 'tool.result', { id: 'c3', tool: 'travel_clerk', response: 'TP 533 on Friday for 189 EUR.', duration_ms: 6_390 }),
  event(8_830, 'model.request', {
    question: 4,
    purpose: 'round',
    mode: 'native',
    model: 'gpt-oss:20b',
    round: 2,
    max_rounds: 10,
    messages: 7,
    characters: 2_104,
    functions: 5,
  }),
  event(11_000, 'model.response', {
    question: 4,
    finish_reason: 'tool_calls',
    calls: 1,
    characters: 44,
    first_token_ms: 800,
    usage: usage(1_990, 60),
    duration_ms: 2_170,
  }),
  event(11_010, 'tool.call', { id: 'c4', tool: 'book_flight', args: { flight: 'TP 533', seats: 2 }, server: 'flights' }),
  event(11_020, 'approval.request', { id: 'c4', tool: 'book_flight', args: { flight: 'TP 533', seats: 2 }, server: 'flights' }),
  event(24_000, 'approval.response', {
    id: 'c4',
    tool: 'book_flight',
    decision: 'approve',
    edited: true,
    args: { flight: 'TP 533', seats: 1 },
  }),
  event(25_600, 'tool.result', {
    id: 'c4',
    tool: 'book_flight',
    response: { booking: 'X7K2', seats: 1, total: '189 EUR' },
    duration_ms: 1_590,
  }),
  event(25_620, 'limit.reached', { limit: 'calls_per_run', value: 4 }),
  event(25_630, 'config.update', { created: at(25_630), preset: 'concierge' }),
  event(25_640, 'model.request', {
    question: 5,
    purpose: 'last_answer',
    mode: 'native',
    model: 'gpt-oss:20b',
    messages: 9,
    characters: 2_500,
    functions: 0,
  }),
];

const summary = {
  id: 'a65197157d8d43a7b0b4ac248280f358',
  status: 'running' as const,
  model: 'gpt-oss:20b',
  mode: 'native',
  created: at(0),
  finished: null,
  usage: usage(5_014, 285),
  caller: 'open-webui/ada',
};

export const fullRun: Run = { ...summary, events };

export const listedRuns: RunSummary[] = [
  {
    ...summary,
    calls: 5,
    failed_calls: 1,
    model_requests: 5,
    tools: names,
    servers: ['weather', 'money', 'flights'],
    last_event: { type: 'model.request', time: at(25_640) },
  },
  {
    ...summary,
    id: 'b',
    status: 'waiting',
    created: at(-20_000),
    calls: 1,
    tools: ['delete_account'],
    last_event: { type: 'approval.request', tool: 'delete_account', time: at(-19_000) },
  },
  {
    ...summary,
    id: 'c',
    status: 'failed',
    model: 'mistral-small',
    created: at(-90_000),
    finished: at(-89_000),
    usage: null,
    calls: 0,
    error: {
      code: 'upstream_unreachable',
      message: 'The backend at http://127.0.0.1:11434 does not answer. Start it, or correct OLLAMA_BASE_URLS.',
    },
  },
  {
    ...summary,
    id: 'd',
    status: 'cancelled',
    created: at(-400_000),
    finished: at(-398_500),
    calls: 1,
    error: { code: 'run_cancelled', message: 'The client disconnected.' },
  },
  ...Array.from({ length: 20 }, (_, index): RunSummary => ({
    ...summary,
    id: `e${index}`,
    status: 'completed',
    created: at(-700_000 - index * 200_000),
    finished: at(-695_000 - index * 199_700),
    mode: ['native', 'default', 'none', 'react'][index % 4] ?? null,
    calls: index % 4 === 2 ? 0 : index % 3,
    tools: index % 4 === 2 ? [] : names.slice(0, index % 3),
  })),
];

/** Shows them in the place of the gateway's own. */
export async function showMadeUpRuns(page: Page): Promise<void> {
  await page.route('**/api/runs?*', (route) => route.fulfill({ json: { data: listedRuns, next: '1.a' } }));
  await page.route('**/api/runs/all', (route) => route.fulfill({ json: fullRun }));
}
