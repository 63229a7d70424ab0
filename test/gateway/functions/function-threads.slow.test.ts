import { expect, it } from 'vitest';
import { createFunctionStates } from '../../../src/tools/functions/run/function-state.ts';
import { createFunctionFolder } from '../../../src/tools/functions/load/function-folder.ts';
import { createFunctionSource } from '../../../src/tools/functions/run/function-source.ts';
import type { PresetRecord } from '../../../src/core/stores/preset.ts';
import type { ToolContext, ToolOutcome } from '../../../src/core/tools/tool.ts';
import { Supervision } from '../../../src/chat/tool-calls/supervise-call.ts';
import { chatRequest, runContext } from '../../_support/tools.ts';
import { functionModule, importNatively, toolsFolder } from '../../_support/tools-folder.ts';

/** One call of the only function of a module, in a thread; `context` sees what it says. */
async function callInThread(
  source: string,
  { signal = new AbortController().signal, context }: { signal?: AbortSignal; context?: Partial<ToolContext> } = {},
) {
  const disk = toolsFolder({ 'a.ts': source, 'lib/part.ts': `export const part: string = 'part';` });
  const folder = createFunctionFolder({ folder: disk.path, toolsets: [], log: () => undefined, load: importNatively });
  const functions = createFunctionSource({ folder, path: disk.path, states: createFunctionStates(), onFault: () => undefined });
  const preset: PresetRecord = { id: 'clerk', origin: 'database', baseModel: 'model', subAgents: [], params: {}, createdAt: 0 };
  const run = runContext({ chatId: 'c', preset, model: 'named' });
  const { candidates } = await functions.supplyFor(undefined, run, chatRequest());
  // What the file becomes afterwards is nothing to a run that has begun.
  disk[Symbol.dispose]();
  const [tool] = candidates.map((candidate) => candidate.toTool(candidate.wanted));
  if (tool === undefined) throw new Error('the module has no function');
  const call = (args = {}): Promise<ToolOutcome> =>
    tool.run(
      { callId: 'c', args, run, signal, timeoutMs: 10_000 },
      context === undefined ? undefined : ({ toolIds: () => [], ...context } as ToolContext),
    );
  return { call };
}

const worker = (execute: string, parameters = 'z.object({})'): string => functionModule('f', { execute, parameters, more: 'worker: true' });

it('a function that blocks holds up nobody else, and its thread has what was loaded, with what that imports [S2-7]', async () => {
  const source = `import { part } from './lib/part.ts';\n${worker('() => { const end = Date.now() + 300; while (Date.now() < end); return part }')}`;
  const { call } = await callInThread(source);
  let turns = 0;
  const turning = setInterval(() => (turns += 1), 5);
  expect(await call()).toEqual({ type: 'result', value: 'part' });
  clearInterval(turning);
  expect(turns).toBeGreaterThan(10);
});

it('its context reaches the gateway: state, status, progress, what it says and changes, stop, a question, and a special result', async () => {
  const said: unknown[] = [];
  const { call } = await callInThread(
    worker(`async (args, context) => {
      context.state.set('n', (context.state.get('n') ?? 0) + 1);
      await context.status('works');
      await context.progress(1, 2);
      await context.say('One moment.');
      await context.updateTools([...context.tools, 'function:g']);
      await context.updateInstructions('Be brief.');
      const answer = await context.ask('Which?', { message: 'One of them' });
      context.stop();
      return answer === 'end' ? handoff('other', context.state.get('n')) : context.state.get('n');
    }`),
    {
      context: {
        status: async (text) => void said.push(text),
        progress: async (done, total) => void said.push([done, total]),
        ask: async (title, question) => (said.push([title, question]), said.length > 7 ? 'end' : 'more'),
        say: async (text) => void said.push(text),
        toolIds: () => ['function:f'],
        updateTools: async (toolIds) => void said.push(toolIds),
        updateInstructions: async (text) => void said.push(text),
        stop: () => void said.push('stop'),
      },
    },
  );
  expect(await call()).toEqual({ type: 'result', value: 1 });
  expect(await call()).toEqual({ type: 'result', value: 2, followUp: { type: 'handoff', preset: 'other' } });
  const changes = [['function:f', 'function:g'], 'Be brief.'];
  expect(said.slice(0, 7)).toEqual(['works', [1, 2], 'One moment.', ...changes, ['Which?', { message: 'One of them' }], 'stop']);
});

it('what it throws arrives with its name, so that a ToolError is told and anything else is masked', async () => {
  const { call } = await callInThread(
    worker(
      `({ how }) => { if (how === 'told') throw new ToolError('closed'); throw new RangeError('secret') }`,
      'z.object({ how: z.string() })',
    ),
  );
  await expect(call({ how: 'told' })).rejects.toMatchObject({ name: 'ToolError', message: 'closed' });
  await expect(call({ how: 'masked' })).rejects.toMatchObject({ name: 'RangeError', message: 'secret' });
});

it('an abort ends the thread though it never looks up [S2-7]', async () => {
  const abort = new AbortController();
  const { call } = await callInThread(worker(`async (args, { status }) => { await status('begun'); for (;;); }`), {
    signal: abort.signal,
    context: { status: async () => void setImmediate(() => abort.abort(new Error('enough'))) },
  });
  await expect(call()).rejects.toThrow('enough');
});

it('a critical section in a thread defers the end of the call [S3-9]', async () => {
  using supervision = new Supervision();
  supervision.startLimits({ idleMs: 10_000, totalMs: 10_000 });
  const { call } = await callInThread(
    worker(`async (args, { critical, status }) => critical(async () => { await status('inside'); await status('still'); return 'done' })`),
    {
      signal: supervision.signal,
      context: { critical: (work) => supervision.critical(work), status: async () => supervision.end({ type: 'cancelled' }) },
    },
  );
  expect(await call()).toEqual({ type: 'result', value: 'done' });
});

it('too much memory ends the thread and nothing else', async () => {
  const { call } = await callInThread(worker(`() => { const all = []; for (;;) all.push(new Array(100_000).fill({})); }`));
  await expect(call()).rejects.toThrow(/memory/i);
});

it('calls in threads side by side lose none of the state that a function makes, and know the preset [S0-14, S0-20]', async () => {
  const { call } = await callInThread(
    worker(
      `async ({ n }, { state, preset, model }) => {
      if (n === undefined) return { all: state.get('all'), preset, model };
      state.set('all', (all = []) => [...all, n].toSorted());
      return state.get('all').includes(n);
    }`,
      'z.object({ n: z.int().optional() })',
    ),
  );
  expect(await Promise.all([1, 2, 3].map((n) => call({ n })))).toMatchObject([{ value: true }, { value: true }, { value: true }]);
  expect(await call()).toMatchObject({ value: { all: [1, 2, 3], preset: 'clerk', model: 'named' } });
});
