import { join } from 'node:path';
import { memoryContinuations } from '../_support/continuations.ts';
import { memorySeals } from '../_support/memory-stores.ts';
import { memoryTranscripts } from '../_support/transcripts.ts';
import { createActiveRuns } from '../../src/runs/active-runs.ts';
import type { ActiveRunsOptions } from '../../src/runs/active-runs.ts';
import { createRunLog } from '../../src/observability/run-log.ts';
import { openSqlite } from '../../src/storage/sqlite/sqlite-database.ts';
import { createRunStore } from '../../src/storage/sql/runs.ts';
import { convertOperations } from '../../src/tools/openapi/convert/convert-operations.ts';
import { createOpenApiTool } from '../../src/tools/openapi/call/openapi-tool.ts';
import { generatedBy, finderOf } from '../_support/scripted-model.ts';
import { chatRequest, offering, runContext, toolNamed } from '../_support/tools.ts';
import { measureFunctionCall } from './measure-function-call.ts';
import { measureParser } from './measure-parser.ts';
import type { ParserSpeeds } from './measure-parser.ts';
import { microsecondsOf, processorMs } from './time-work.ts';
import { outboundBody } from '../_support/outbound-body.ts';

/** What the gateway's own work costs in this process, with a model, tools and a network that take no time. */
export interface ToolWork {
  /** One round: the call is found, checked, run, cited, and the model is asked again. */
  roundMs: number;
  /** One call of a function of this process, beside its own work. */
  functionCallMs: number;
  /** A request built from its arguments, sent to nobody, and its answer read. */
  requestMs: number;
  /** Processor time of a run of 50 chunks, not written down, and written down into a file; waiting for a disk that others use is no work of the log. */
  runUs: number;
  loggedRunUs: number;
  parserMbPerSecond: ParserSpeeds;
}

const caller = { id: 'local', role: 'admin', isOpen: true } as const;

export async function measureToolWork(folder: string): Promise<ToolWork> {
  const nothing: ActiveRunsOptions['log'] = {
    begin: () => ({ record: () => undefined, end: () => undefined }),
    resume: async () => undefined,
    find: async () => undefined,
  };
  const connection = openSqlite({ file: join(folder, 'runs.db'), now: Date.now });
  const kept = createRunLog({ store: createRunStore(connection), now: Date.now, logger: { error: () => undefined } });
  const calling = 20;
  const withCalls = await microsecondsOf(() => runOnce(calling, 0, nothing), 100);
  const withoutCalls = await microsecondsOf(() => runOnce(0, 0, nothing), 100);
  const runUs = await microsecondsOf(() => runOnce(0, 50, nothing), 1_000, { clock: processorMs });
  const loggedRunUs = await microsecondsOf(() => runOnce(0, 50, kept), 1_000, { clock: processorMs, atEnd: () => kept.flush() });
  await kept.close();
  await connection.close();
  return {
    roundMs: (withCalls - withoutCalls) / calling / 1_000,
    functionCallMs: await measureFunctionCall(),
    requestMs: await measureRequest(),
    runUs,
    loggedRunUs,
    parserMbPerSecond: measureParser(),
  };
}

async function runOnce(calls: number, chunks: number, log: ActiveRunsOptions['log']): Promise<void> {
  let asked = 0;
  const backend = generatedBy(async function* () {
    asked += 1;
    if (asked <= calls) {
      yield { type: 'tool-call', call: { id: `call-${asked}`, name: 'add', arguments: `{"left":${asked},"right":2}` } };
      yield { type: 'finish', reason: 'tool_calls' };
      return;
    }
    for (let count = 0; count < chunks; count += 1) yield { type: 'text', text: 'word ' };
    yield { type: 'text', text: 'done' };
    yield { type: 'finish', reason: 'stop' };
  });
  const number = { type: 'number', description: 'A number to add' };
  const parameters = { type: 'object', properties: { left: number, right: number }, required: ['left', 'right'] };
  const add = toolNamed('add', ({ args }) => ({ type: 'result', value: Number(args['left']) + Number(args['right']) }), { parameters });
  const others = Array.from({ length: calls > 0 ? 40 : 0 }, (_, index) => toolNamed(`other_${index}`, 1, { parameters }));
  const services: ActiveRunsOptions['services'] = {
    models: finderOf({ model: backend }, { nativeTools: 'yes' }),
    tools: offering(...(calls > 0 ? [add, ...others] : [])),
    presets: { list: async () => [], find: async () => undefined },
    configs: { find: async () => undefined, save: async () => undefined },
    continuations: memoryContinuations({ now: Date.now }),
    thoughtSeals: memorySeals(),
    transcripts: memoryTranscripts(),
    settings: {
      taskModel: undefined,
      taskModelExternal: undefined,
      selectionTemplate: '{{TOOLS}}',
      contextTemplate: '{{CONTEXT}}',
      functionCalling: 'native',
      maxToolRounds: 100,
      toolTimeoutMs: 5_000,
    },
    newCallId: () => 'call',
    now: Date.now,
  };
  runCount += 1;
  const starter = createActiveRuns({ services, newRunId: () => `run-${runCount}`, log });
  await starter.start(chatRequest({ maxToolRounds: 100 }), { caller, controller: new AbortController() }).stream(() => undefined);
}

let runCount = 0;

async function measureRequest(): Promise<number> {
  const schema = {
    type: 'object',
    properties: { title: { type: 'string' }, labels: { type: 'array', items: { type: 'string' } } },
    required: ['title'],
  };
  const parameters = [
    { name: 'owner', in: 'path', required: true, schema: { type: 'string' } },
    { name: 'page', in: 'query', schema: { type: 'integer' } },
  ];
  const operation = {
    operationId: 'create',
    parameters,
    requestBody: { required: true, content: { 'application/json': { schema } } },
    responses: { 200: { description: 'Done' } },
  };
  const { operations } = convertOperations({
    openapi: '3.1.0',
    info: { title: 't', version: '1' },
    paths: { '/repos/{owner}/issues': { post: operation } },
  });
  const [first] = operations;
  if (first === undefined) throw new Error('The operation could not be converted');
  const body = new TextEncoder().encode(JSON.stringify({ id: 1, title: 'x', labels: ['a'] }));
  const tool = createOpenApiTool({
    operation: first,
    offeredName: 'create',
    label: 'bench/create',
    server: 'bench',
    connection: {
      baseUrlFor: () => 'http://127.0.0.1:9/',
      trust: { kind: 'configured', origin: 'http://127.0.0.1:9' },
      headersFor: () => ({ authorization: 'Bearer x' }),
      queryFor: () => ({}),
      send: async () => ({ status: 200, headers: { 'content-type': 'application/json' }, body: outboundBody(piecesOf(body)) }),
    },
  });
  const run = runContext();
  const args = { owner: 'somebody', page: 3, title: 'A title', labels: ['bug', 'later'] };
  const call = () => tool.run({ callId: 'c', args, run, signal: run.signal, timeoutMs: 1_000 });
  const outcome = await call();
  if (outcome.type !== 'result') throw new Error(outcome.message);
  return (await microsecondsOf(call, 2_000)) / 1_000;
}

async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
