import { expect, it, onTestFinished, vi } from 'vitest';
import { RunEnd } from '../../../../src/runs/running-runs.ts';
import { createFunctionStates } from '../../../../src/tools/functions/run/function-state.ts';
import { createFunctionFolder } from '../../../../src/tools/functions/load/function-folder.ts';
import type { FolderMessage, FunctionFolder } from '../../../../src/tools/functions/load/function-folder.ts';
import { createFunctionSource } from '../../../../src/tools/functions/run/function-source.ts';
import { prepareToolCall } from '../../../../src/chat/tool-calls/prepare-tool-call.ts';
import { chatRequest, runContext, toolMap } from '../../../_support/tools.ts';
import { watchJobNames } from '../../../_support/watch-job-names.ts';
import { functionModule, importNatively, toolsFolder } from '../../../_support/tools-folder.ts';
import type { ToolsFolder } from '../../../_support/tools-folder.ts';
import { listen } from '../../../gateway/functions/function-gateway.ts';

interface Opened {
  disk: ToolsFolder;
  folder: FunctionFolder;
  news: FolderMessage[];
  /** Of the level, in order. */
  told(level: string): string[];
  names(): Promise<string[]>;
  [Symbol.asyncDispose](): Promise<void>;
}

function openFolder(files: Record<string, string>): Opened {
  const disk = toolsFolder(files);
  const news: FolderMessage[] = [];
  const folder = createFunctionFolder({ folder: disk.path, toolsets: [], log: (entry) => void news.push(entry), load: importNatively });
  return {
    disk,
    folder,
    news,
    told: (level) => news.filter((entry) => entry.level === level).map(({ message }) => message.replaceAll(disk.path, '')),
    names: async () => (await folder.registry()).functions.map(({ id }) => id),
    async [Symbol.asyncDispose]() {
      await folder.close();
      disk[Symbol.dispose]();
    },
  };
}

function runner({ disk, folder }: Opened) {
  const source = createFunctionSource({ folder, path: disk.path, states: createFunctionStates(), onFault: () => undefined });
  return async (run = runContext()) => {
    const { candidates } = await source.supplyFor(undefined, run, chatRequest());
    const [tool] = candidates.map((candidate) => candidate.toTool(candidate.wanted));
    return async () => {
      const outcome = await tool?.run({ callId: 'c', args: {}, run, signal: run.signal, timeoutMs: 1_000 });
      return outcome?.type === 'result' ? outcome.value : outcome?.message;
    };
  };
}

const answering = (value: string): string => functionModule('f', { execute: `() => '${value}'` });

it('what is new, changed or gone is on offer without a restart, and what is unchanged is the same function', async () => {
  await using opened = openFolder({
    'a.js': answering('one'),
    'b.ts': `const x: number = 1;\n${functionModule('g', { execute: '() => x' })}`,
  });
  const [before] = (await opened.folder.registry()).functions;
  opened.disk.write({
    'c.mjs': functionModule('h'),
    '_note.js': 'broken(',
    'd.test.js': 'broken(',
    'data.json': '{}',
    'lib/x.js': 'broken(',
  });
  await opened.folder.reload();
  expect(await opened.names()).toEqual(['function:f', 'function:g', 'function:h']);
  expect((await opened.folder.registry()).functions[0]?.definition).toBe(before?.definition);
  opened.disk.remove('a.js');
  await opened.folder.reload();
  expect(await opened.names()).toEqual(['function:g', 'function:h']);
  expect(opened.told('error')).toEqual([]);
});

it('a broken file keeps the old version and says once what is wrong', async () => {
  await using opened = openFolder({ 'a.js': answering('old') });
  const run = runner(opened);
  expect(await (await run())()).toBe('old');
  opened.disk.write({ 'a.js': 'export const a = 1;\nexport const b = ;\n' });
  await opened.folder.reload();
  await opened.folder.reload();
  expect(await (await run())()).toBe('old');
  expect(opened.told('error')).toEqual(["/a.js:2: Unexpected token ';' (its last good version stays in use)"]);
  opened.disk.write({ 'a.js': answering('mended') });
  await opened.folder.reload();
  expect(await (await run())()).toBe('mended');
});

it('what is wrong in a file that a module imports is told with that file', async () => {
  await using opened = openFolder({ 'a.ts': `import './_lib.ts';\n${answering('x')}`, '_lib.ts': 'const a: number = 1;\nconst b = ;\n' });
  await opened.folder.reload();
  expect(opened.told('error')).toEqual([expect.stringMatching(/^\/a\.ts: \/_lib\.ts:2: Expression expected/)]);
});

it.each([
  ['throws at its top level', 'throw new Error("no database");', /^\/a\.js: no database$/],
  [
    'offers nothing',
    'export const a = 1;',
    /^\/a\.js: it exports nothing made by defineTool or defineToolset; let the name of a file that is only imported by others begin with _$/,
  ],
  ['defines what cannot work', functionModule('no name'), /^\/a\.js: defineTool "no name": name must consist of/],
  [
    'exports only the mark of a function',
    "export default { [Symbol.for('toolwharf.function')]: true };",
    /^\/a\.js: it exports a function or toolset that is incomplete/,
  ],
  [
    'exports only the mark of a toolset',
    "export default { [Symbol.for('toolwharf.toolset')]: true };",
    /^\/a\.js: it exports a function or toolset that is incomplete/,
  ],
  ['throws what has no text', 'throw Object.create(null);', /^\/a\.js: it threw something that cannot be written as text$/],
  ['imports what is not there', `import './gone.js';`, /^\/a\.js: Cannot find module/],
])('a module that %s costs itself alone', async (_, source, expected) => {
  await using opened = openFolder({ 'a.js': source, 'b.js': functionModule('g') });
  expect(await opened.names()).toEqual(['function:g']);
  expect(opened.told('error')).toEqual([expect.stringMatching(expected)]);
});

it('a change in what a module imports from below the folder is a change of the module', async () => {
  const importing = `import { word } from './lib/word.js';\n${functionModule('f', { execute: '() => word' })}`;
  await using opened = openFolder({ 'a.js': importing, 'lib/word.js': `export const word = 'one';` });
  const run = runner(opened);
  expect(await (await run())()).toBe('one');
  opened.disk.write({ 'lib/word.js': `export const word = 'twenty';` });
  await opened.folder.reload(false);
  expect(await (await run())()).toBe('twenty');
});

it('the id stays over updates, and of two with one name the last wins [S3-2]', async () => {
  await using opened = openFolder({ 'a.js': answering('a'), 'b.js': answering('b') });
  const run = runner(opened);
  expect([await opened.names(), await (await run())()]).toEqual([['function:f'], 'b']);
  expect(opened.told('warn')).toEqual(['/b.js: the function "f" replaces the one of another module; rename one of them']);
  opened.disk.write({ 'b.js': answering('b again') });
  await opened.folder.reload();
  expect([await opened.names(), await (await run())()]).toEqual([['function:f'], 'b again']);
});

const toolset = (word: string, setup = ''): string => `
  import { defineTool, defineToolset } from 'toolwharf';
  const tool = defineTool({ name: 'f', description: 'f', parameters: { type: 'object' }, execute: () => '${word}' });
  export default defineToolset({ id: 'set', tools: [tool],
    setup: () => { ${setup} globalThis.tell('${word} opens') }, close: () => globalThis.tell('${word} closes') });`;

it('a toolset is set up before it is offered, and closed when it was replaced and the last run that has it ends [S3-14]', async () => {
  using listening = listen();
  await using opened = openFolder({ 'a.js': toolset('one') });
  const end = new RunEnd();
  const run = runner(opened);
  const call = await run(runContext({ whenOver: end.whenOver }));
  opened.disk.write({ 'a.js': toolset('two2') });
  await opened.folder.reload();
  expect([await call(), await (await run())()]).toEqual(['one', 'two2']);
  expect(listening.heard).toEqual(['one opens', 'two2 opens']);
  end.reach();
  await Promise.resolve();
  expect(listening.heard).toEqual(['one opens', 'two2 opens', 'one closes']);
  await opened.folder.close();
  expect(listening.heard.at(-1)).toBe('two2 closes');
});

it('a toolset whose setup fails leaves the one before it in place, and is tried again', async () => {
  using listening = listen();
  await using opened = openFolder({ 'a.js': toolset('one') });
  const run = runner(opened);
  await run();
  opened.disk.write({ 'a.js': toolset('two', `if (!globalThis.isUp) throw new Error('no database');`) });
  await opened.folder.reload();
  await opened.folder.reload(false);
  expect(await (await run())()).toBe('one');
  expect(opened.told('error')).toEqual(['the toolset "set": setup failed: no database']);
  Object.assign(globalThis, { isUp: true });
  await opened.folder.reload(false);
  Reflect.deleteProperty(globalThis, 'isUp');
  expect(await (await run())()).toBe('two');
  expect(listening.heard).toEqual(['one opens', 'two opens', 'one closes']);
});

it('a toolset whose setup takes its time holds up nobody, and joins the others when it is done', async () => {
  using listening = listen();
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  Object.assign(globalThis, { gate: gate.promise, begin: begun.resolve });
  onTestFinished(() => void (Reflect.deleteProperty(globalThis, 'gate') && Reflect.deleteProperty(globalThis, 'begin')));
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  await using opened = openFolder({
    'a.js': toolset('one', 'globalThis.begin(); await globalThis.gate;').replace('setup: ()', 'setup: async ()'),
    'b.js': functionModule('g'),
  });
  const first = opened.names();
  await begun.promise;
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await first).toEqual(['function:g']);
  expect(opened.told('warn')).toEqual(['the toolset "set": setup is still running after 2 s; the toolset is offered once it is done']);
  await opened.folder.reload(false);
  gate.resolve();
  await expect.poll(() => opened.names()).toEqual(['function:g', 'toolset:set/f']);
  expect(listening.heard).toEqual(['one opens']);
});

it('the folder itself tells that a file was changed', async () => {
  await using opened = openFolder({ 'a.js': answering('old') });
  await opened.folder.registry();
  opened.folder.watch();
  opened.disk.write({ 'a.js': answering('renewed') });
  await expect.poll(() => opened.told('info')).toHaveLength(2);
  expect(await (await runner(opened)())()).toBe('renewed');
});

it('a folder that cannot be read is told, and what was loaded stays', async () => {
  await using opened = openFolder({ 'a.js': answering('x') });
  await opened.folder.registry();
  opened.disk[Symbol.dispose]();
  await opened.folder.reload();
  expect(await opened.names()).toEqual(['function:f']);
  expect(opened.told('error')).toEqual([expect.stringMatching(/^tools_dir: .* cannot be read: ENOENT/)]);
});

/** A folder whose modules are loaded when the test says so. */
function openGated(disk: ToolsFolder, told: string[] = []) {
  const loads: { name: string; go: () => void }[] = [];
  const folder = createFunctionFolder({
    folder: disk.path,
    toolsets: [],
    log: ({ message }) => void told.push(message.replaceAll(disk.path, '')),
    load: async (url) => {
      const gate = Promise.withResolvers<void>();
      loads.push({ name: new URL(url).pathname.split('/').at(-1) ?? '', go: gate.resolve });
      await gate.promise;
      return importNatively(url);
    },
  });
  return { folder, loads };
}

const stillLoading = '/a.js: it is still loading after 2 s and is offered once it is done; do less at its top level';

it('a module that takes its time holds up the others for two seconds, and joins them when it is done', async () => {
  using disk = toolsFolder({ 'a.js': answering('a'), 'b.js': functionModule('g') });
  const told: string[] = [];
  const { folder, loads } = openGated(disk, told);
  const ids = async (): Promise<string[]> => (await folder.registry()).functions.map(({ id }) => id);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const first = ids();
  await expect.poll(() => loads).toHaveLength(2);
  loads.find(({ name }) => name === 'b.js')?.go();
  // A module that is loaded leaves no timer behind.
  await expect.poll(() => vi.getTimerCount()).toBe(2);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await first).toEqual(['function:g']);
  expect(told).toContain(stillLoading);

  loads.find(({ name }) => name === 'a.js')?.go();
  await expect.poll(() => ids()).toEqual(['function:f', 'function:g']);
  expect(loads).toHaveLength(2);
  await folder.close();
});

it('a module that does not come to an end is given up, and holds up nothing again until it is changed', async () => {
  using disk = toolsFolder({ 'a.js': 'await new Promise(() => {});' });
  const told: string[] = [];
  const { folder, loads } = openGated(disk, told);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const first = folder.reload();
  await expect.poll(() => loads).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(2_000);
  await first;
  await vi.advanceTimersByTimeAsync(8_000);
  await expect.poll(() => told).toEqual([stillLoading, '/a.js: it took more than 10 s to load; do less at its top level']);

  disk.write({ 'b.js': answering('b') });
  const second = folder.reload();
  await expect.poll(() => loads.length).toBeGreaterThan(1);
  expect(loads.map(({ name }) => name)).toEqual(['a.js', 'b.js']);
  loads[1]?.go();
  await second;

  disk.write({ 'a.js': `${answering('a')}// changed` });
  const third = folder.reload();
  await expect.poll(() => loads).toHaveLength(3);
  loads[2]?.go();
  await third;
  expect((await folder.registry()).functions).toHaveLength(1);
  await folder.close();
});

it('those who ask amid a look share the next one', async () => {
  using disk = toolsFolder({ 'a.js': 'broken(' });
  const { folder, loads } = openGated(disk);
  const first = folder.reload();
  await expect.poll(() => loads).toHaveLength(1);
  const others = [folder.reload(false), folder.reload(), folder.reload()];
  loads[0]?.go();
  await first;
  await expect.poll(() => loads).toHaveLength(2);
  loads[1]?.go();
  await Promise.all(others);
  expect(loads).toHaveLength(2);
  await folder.close();
});

it('arguments of its functions are checked on the main thread from the first call on', async () => {
  const jobs = watchJobNames();
  await using opened = openFolder({ 'add.js': functionModule('add') });
  const { disk, folder } = opened;
  const source = createFunctionSource({ folder, path: disk.path, states: createFunctionStates(), onFault: () => undefined });
  const run = runContext();
  const { candidates } = await source.supplyFor(undefined, run, chatRequest());
  const tools = toolMap(...candidates.map((candidate) => candidate.toTool(candidate.wanted)));
  expect([...tools.keys()]).toEqual(['add']);
  expect(await prepareToolCall({ id: 'c', name: 'add', arguments: '{}' }, tools, run)).toMatchObject({ type: 'ready' });
  expect(jobs).toEqual([]);
});
