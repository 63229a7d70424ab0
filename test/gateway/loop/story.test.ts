import { expect, it } from 'vitest';
import { textOf } from '../../../src/core/chat/chat.ts';
import type { ChatMessage, ModelEvent, ToolCall } from '../../../src/core/chat/chat.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import type { ModelRequest } from '../../../src/core/models/model.ts';
import { backendOf, listen } from '../../_support/build-app.ts';
import { connectFakeBrowser } from '../../_support/fake-browser.ts';
import { call, decide, readRun, storesIn } from '../approvals/approval-fixture.ts';
import type { Asked, ReadRun } from '../approvals/approval-fixture.ts';
import { temporaryFolders } from '../../storage/temporary-folder.ts';
import { jsonResponse, neverAnswers } from '../../tools/scripted-send.ts';
import type { ScriptedAnswer } from '../../tools/scripted-send.ts';
import { documentOf, gatewayOf, readSeen, serverOf } from '../gateway.ts';
import type { Gateway } from '../gateway.ts';
import { GeneratedModel } from '../../_support/scripted-model.ts';

const newFolder = temporaryFolders();

/** What the model does: a list of calls for each of its turns; an empty one is the answer. */
const plan: [id: string, name: string, args: JsonObject][][] = [
  [
    ...numbered('fast', 10, (n): [string, JsonObject] => ['measure', { n }]),
    ...numbered('broken', 2, (n): [string, JsonObject] => ['fail', { n }]),
    ...numbered('page', 2, (n): [string, JsonObject] => ['read_page', { part: n }]),
    ['endless-1', 'wait_forever', {}],
  ],
  numbered('calm', 5, (n) => ['measure_slowly', { n: 100 + n }]),
  [],
  [
    ...numbered('again', 6, (n): [string, JsonObject] => ['measure', { n: 1_000 + n }]),
    ['pay-one', 'pay', { amount: 5 }],
    ['pay-two', 'pay', { amount: 900 }],
  ],
  numbered('last', 2, (n) => ['measure', { n: 10_000 + n }]),
  [],
];

function numbered(kind: string, count: number, toCall: (n: number) => [string, JsonObject]): [string, string, JsonObject][] {
  return Array.from({ length: count }, (_, index) => [`${kind}-${index + 1}`, ...toCall(index + 1)]);
}

/** Follows the plan, and answers with the sum of everything that it has read: so the answer is right only when no result was lost or doubled. */
class Accountant extends GeneratedModel {
  turn: number;
  readonly asked: ModelRequest[] = [];

  constructor(turn: number) {
    super();
    this.turn = turn;
  }

  async *events(request: ModelRequest): AsyncGenerator<ModelEvent, void, undefined> {
    this.asked.push({ ...request, messages: structuredClone(request.messages) });
    const wanted = plan[this.turn] ?? [];
    this.turn += 1;
    for (const [id, name, args] of wanted) yield { type: 'tool-call', call: toCall(id, name, args) };
    if (wanted.length === 0) yield { type: 'text', text: account(request.messages) };
    yield { type: 'finish', reason: wanted.length === 0 ? 'stop' : 'tool_calls' };
  }
}

const toCall = (id: string, name: string, args: JsonObject): ToolCall => ({ id, name, arguments: JSON.stringify(args) });

function account(messages: readonly ChatMessage[]): string {
  const results = messages.filter((message) => message.role === 'tool').map((message) => textOf(message.content));
  const values = results.flatMap((text) => /"value": (?<value>\d+)/.exec(text)?.groups?.['value'] ?? []);
  const failed = results.filter((text) => text.startsWith('{"error"')).length;
  return `${values.length} values make ${values.reduce((sum, value) => sum + Number(value), 0)}; ${failed} calls gave none.`;
}

const number = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
const servers = [
  serverOf('lab', documentOf({ measure: number, measure_slowly: number, fail: number, wait_forever: { type: 'object', properties: {} } }), {
    extra: { config: { parallel: true } },
  }),
  serverOf('bank', documentOf({ pay: { type: 'object', properties: { amount: { type: 'integer' } }, required: ['amount'] } }), {
    extra: { config: { needs_approval: true } },
  }),
];

/** Gives back the number it was sent. */
const measures: ScriptedAnswer = async ({ body }) => jsonResponse({ value: (JSON.parse(String(body)) as { n: number }).n });
const answers: Record<string, ScriptedAnswer> = {
  'http://lab.test/measure': measures,
  'http://lab.test/measure_slowly': async (request) => {
    await new Promise((resolve) => setTimeout(resolve, 30));
    return measures(request);
  },
  'http://lab.test/fail': async () => jsonResponse({ detail: 'The instrument is being cleaned.' }, 503),
  'http://lab.test/wait_forever': neverAnswers,
  'http://bank.test/pay': async ({ body }) => jsonResponse({ paid: (JSON.parse(String(body)) as { amount: number }).amount, value: 7 }),
};

function openGateway(folder: string, model: Accountant): Promise<Gateway> {
  const { runs, waitingRuns, config } = storesIn(folder);
  const backends = [backendOf(model, ['model'], { capabilities: ['tools'] })];
  return gatewayOf({ servers, answers, backends, ...(runs && { runs }), ...(waitingRuns && { waitingRuns }), ...(config && { config }) });
}

const countOf = (run: ReadRun, type: string): number => run.events.filter((event) => event.type === type).length;
const resultOf = (run: ReadRun, id: string): JsonObject | undefined =>
  run.events.find((event) => event.type === 'tool.result' && event.data['id'] === id)?.data;

it('a conversation with thirty calls, slow, failing, cancelled, in the browser and waiting for an approval over a restart, ends with the right answer and a log that explains it', async () => {
  const folder = newFolder();

  // The first question is asked from a page: two of its fifteen calls run there.
  const firstModel = new Accountant(0);
  const first = await openGateway(folder, firstModel);
  const url = await listen(first.app);
  const browser = await connectFakeBrowser({
    url,
    onExecuteTool: ({ params }) => ({ value: 20 + Number((params as JsonObject)['part']) }),
  });
  const body = {
    model: 'model',
    messages: [{ role: 'user', content: 'Measure everything.' }],
    chat_id: 'story',
    session_id: browser.sessionId(),
    stream: true,
    stream_options: { include_events: true },
    tool_servers: [
      {
        url: 'http://page.test',
        config: { parallel: true },
        specs: [{ name: 'read_page', description: 'Reads', parameters: { type: 'object', properties: { part: { type: 'integer' } } } }],
      },
    ],
  };
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(body) });
  const firstRun = response.headers.get('x-toolwharf-run-id') ?? '';

  // One call never ends; it is cancelled by its id, and the run goes on without it.
  await expect.poll(async () => (await fetch(`${url}/api/runs/${firstRun}/calls/endless-1/cancel`, { method: 'POST' })).status).toBe(200);
  const told = readSeen(await response.text());
  expect(told.text).toBe('17 values make 613; 3 calls gave none.');

  const firstLog = (await call(first, `GET /api/runs/${firstRun}`)).json<ReadRun>();
  expect(firstLog.status).toBe('completed');
  expect([countOf(firstLog, 'tool.call'), countOf(firstLog, 'tool.result')]).toEqual([20, 20]);
  expect(resultOf(firstLog, 'broken-1')).toMatchObject({
    error: { code: 'tool_error', message: expect.stringContaining('being cleaned') },
  });
  expect(resultOf(firstLog, 'endless-1')).toMatchObject({ error: { state: 'outcome_unknown' } });
  expect(resultOf(firstLog, 'page-2')).toMatchObject({ response: { value: 22 } });

  // The second question comes without a page. Its payments wait for somebody, and the gateway goes down meanwhile.
  const history = [...body.messages, { role: 'assistant', content: told.text }, { role: 'user', content: 'Go on, and pay.' }];
  const asked = (
    await call(first, 'POST /v1/chat/completions', { payload: { model: 'model', messages: history, chat_id: 'story' } })
  ).json<Asked>();
  expect(asked.approval.calls.map(({ id }) => id)).toEqual(['pay-one', 'pay-two']);
  expect((await readRun(first, asked)).status).toBe('waiting');
  expect(first.sent.filter(({ url: to }) => to.endsWith('/pay'))).toEqual([]);
  await browser.close();
  await first.app.close();

  // After the restart one payment is approved with another amount, the other one is refused.
  await using second = await openGateway(folder, new Accountant(4));
  const refused = await decide(second, asked, { place: 1, decision: 'reject', message: 'Far too much.' });
  expect([refused.statusCode, refused.json()]).toEqual([202, { waiting: ['pay-one'] }]);
  const answer = (await decide(second, asked, { arguments: { amount: 3 } })).json<Asked>();
  expect((await decide(second, asked)).statusCode).toBe(409);
  expect(second.sent.filter(({ url: to }) => to.endsWith('/pay')).map(({ body: sent }) => String(sent))).toEqual(['{"amount":3}']);

  // Six values were measured before the restart, two after it, and one came with the payment: none is lost, none counts twice.
  expect(answer.choices[0]?.message.content).toBe('9 values make 26031; 1 calls gave none.');
  const log = await readRun(second, asked);
  expect(log.status).toBe('completed');
  expect([countOf(log, 'tool.call'), countOf(log, 'tool.result')]).toEqual([10, 10]);
  expect(resultOf(log, 'pay-one')).toMatchObject({ response: { paid: 3 } });
  expect(resultOf(log, 'pay-two')).toMatchObject({
    error: { code: 'approval_rejected', message: expect.stringContaining('Far too much.') },
  });
  expect(log.events.map(({ type }) => type).filter((type) => type.startsWith('approval'))).toEqual([
    'approval.request',
    'approval.request',
    'approval.response',
    'approval.response',
  ]);
  for (const { events } of [firstLog, log]) {
    const settled = events.filter(({ type }) => type === 'tool.result').map(({ data }) => data['id']);
    expect(new Set(settled).size).toBe(settled.length);
    expect([events[0]?.type, events.at(-1)?.type]).toEqual(['run.start', 'run.end']);
  }
});
