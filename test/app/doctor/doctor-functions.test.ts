import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { examineInstallation } from '../../../src/cli/doctor.ts';
import { functionModule, importNatively, toolsFolder } from '../../_support/tools-folder.ts';

/** Level and text of the findings below a title, without the folder's path. */
async function found(title: string, files: Record<string, string>, yaml: string): Promise<string[]> {
  const folder = toolsFolder(files);
  onTestFinished(() => folder[Symbol.dispose]());
  const environment = {
    PORT: '0',
    TOOLWHARF_DATA_DIR: join(folder.path, 'data'),
    TOOLWHARF_CONFIG: join(folder.path, 'toolwharf.yaml'),
    OLLAMA_BASE_URLS: ';',
  };
  const sections = await examineInstallation(environment, {
    readFile: (path) => (path.endsWith('.yaml') ? yaml.replaceAll('$HERE', folder.path) : undefined),
    isContainer: false,
    importModule: importNatively,
  });
  const { findings = [] } = sections.find((section) => section.title === title) ?? {};
  return findings.map(({ level, text }) => `${level} ${text.replaceAll(folder.path, '')}`);
}

const set = `import { defineTool, defineToolset } from 'toolwharf';
const f = defineTool({ name: 'roll', description: 'Rolls', parameters: { type: 'object' }, execute: () => 6 });
export default defineToolset({ id: 'dice', tools: [f], setup() { throw new Error('not to be set up'); } });`;

it('names the functions of each module, what is wrong with others, and clashes', async () => {
  const files = {
    'tools/a.js': functionModule('get_a'),
    'tools/b.js': 'export default 1;',
    'tools/c.ts': 'const x: = 1;',
    'tools/d.js': functionModule('get_a'),
    'tools/e.mjs': set,
  };
  expect(await found('Functions and hooks', files, 'tools_dir: $HERE/tools\ntoolsets: [{ id: cards }]')).toEqual([
    'ok a.js: 1 function (get_a)',
    expect.stringMatching(/^broken \/tools\/b\.js: it exports nothing made by defineTool or defineToolset; /),
    expect.stringMatching(/^broken \/tools\/c\.ts:1: /),
    'ok d.js: 1 function (get_a)',
    'ok e.mjs: 1 function (dice/roll)',
    expect.stringMatching(/^warning \/tools\/d\.js: the function "get_a" replaces the one of another module/),
    expect.stringMatching(/^warning toolsets: no module defines "cards"/),
  ]);
});

it('names hooks that can be loaded, and those without which the gateway does not start', async () => {
  const files = { 'good.mjs': 'export const beforeTool = () => undefined;', 'bad.mjs': 'export const x = 1;' };
  expect(await found('Functions and hooks', files, 'hooks: [$HERE/good.mjs, $HERE/bad.mjs]')).toEqual([
    expect.stringMatching(/^ok hook .*good\.mjs: beforeTool; when it fails: abort$/),
    expect.stringMatching(/^broken hook .*bad\.mjs: .*exports no hook/),
  ]);
});

it('says that a folder of functions is not there', async () => {
  expect(await found('Functions and hooks', {}, 'tools_dir: $HERE/gone')).toEqual([
    'broken tools_dir: the folder /gone does not exist, so the gateway does not start',
  ]);
});

it('says what a preset names and nobody knows', async () => {
  const yaml = `tools_dir: $HERE/tools
models:
  - { id: good, base_model: demo, tools: ["function:get_a", "toolset:dice", "toolset:dice/roll", "preset:bad", "server:time/now"] }
  - { id: bad, base_model: gone, tools: ["function:get_b", "toolset:dice/roam", "preset:nobody", "server:nowhere"], sub_agents: [nobody] }
tool_servers: [{ id: time, url: "http://127.0.0.1:1", config: { enable: false } }]`;
  const files = { 'tools/a.js': functionModule('get_a'), 'tools/e.mjs': set };
  expect(await found('Presets', files, yaml)).toEqual([
    'ok good: on demo',
    'warning bad: base_model: no backend lists "gone" at the moment',
    'warning bad: tools: "function:get_b" is not known',
    'warning bad: tools: "toolset:dice/roam" is not known',
    'warning bad: tools: "preset:nobody" is not known',
    'warning bad: tools: "server:nowhere" is not known',
    'warning bad: sub_agents: there is no preset "nobody", so no chat can be handed off to it.',
  ]);
});
