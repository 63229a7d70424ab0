import { describe, expect, it, onTestFinished } from 'vitest';
import type { ToolServerRecord } from '../../src/core/stores/registry.ts';
import { connectedTools } from '../_support/connected-tools.ts';
import type { ToolCatalog } from '../../src/tools/catalog/tool-catalog.ts';
import { chatRequest, runContext } from '../_support/tools.ts';
import { toolServerRecord } from '../storage/registry-contract.ts';
import { documentWith, scriptedSend } from './scripted-send.ts';

const records: ToolServerRecord[] = [
  toolServerRecord({ id: 'time', url: 'http://time.test' }),
  toolServerRecord({ id: 'maps', url: 'http://maps.test' }),
  toolServerRecord({ id: 'extra', url: 'http://extra.test', isDefault: false }),
];

function catalog(): ToolCatalog {
  const { send } = scriptedSend({
    'http://time.test/openapi.json': documentWith('now', 'zone'),
    'http://maps.test/openapi.json': documentWith('route', 'place'),
    'http://extra.test/openapi.json': documentWith('more'),
  });
  const made = connectedTools({ records, send });
  onTestFinished(() => made.close());
  return made.catalog;
}

const callerWith = (tools: string[]) => ({ id: 'key_1', role: 'user', isOpen: false, tools }) as const;

async function labelsFor(tools: string[], toolIds: string[] | undefined): Promise<string[]> {
  const offer = await catalog().offerFor(chatRequest({ toolIds }), runContext({ caller: callerWith(tools) }));
  expect(offer.warnings).toEqual([]);
  return [...offer.tools.values()].map((tool) => tool.label);
}

describe('a caller whose key is limited to some tools', () => {
  it.each<[string[], string[]]>([
    [[], []],
    [['server:time'], ['time/now', 'time/zone']],
    [['server:openapi:time'], ['time/now', 'time/zone']],
    [['server:mcp:time'], []],
    [
      ['server:time/zone', 'server:maps/place'],
      ['time/zone', 'maps/place'],
    ],
    [
      ['server:time/zone', 'server:time'],
      ['time/now', 'time/zone'],
    ],
    [['server:time/gone', 'server:gone', 'toolset:some'], []],
    [['server:extra'], []],
  ])('%j gets of the defaults %j', async (tools, expected) => {
    expect(await labelsFor(tools, undefined)).toEqual(expected);
  });

  it.each<[string[], string[], string[]]>([
    [['server:time'], ['server:time'], ['time/now', 'time/zone']],
    [['server:time'], ['server:openapi:time/now'], ['time/now']],
    [['server:time/zone'], ['server:time/zone'], ['time/zone']],
    [['server:extra'], ['server:extra'], ['extra/more']],
    [['server:extra'], [], []],
  ])('%j may ask for %j', async (tools, toolIds, expected) => {
    expect(await labelsFor(tools, toolIds)).toEqual(expected);
  });

  it.each<[string[], string[]]>([
    [['server:time'], ['server:maps']],
    [['server:time'], ['server:time', 'server:maps/place']],
    [['server:time/zone'], ['server:time/now']],
    [['server:time/zone'], ['server:time']],
    [['server:time'], ['server:no-such-server']],
    [[], ['server:time']],
    [[], ['nonsense']],
  ])('%j is refused for %j, whether it exists or not', async (tools, toolIds) => {
    await expect(labelsFor(tools, toolIds)).rejects.toMatchObject({ code: 'forbidden', status: 403, param: 'tool_ids' });
  });

  it('is told of an allowed tool that is gone, and of no other server or function', async () => {
    const refusals = [
      labelsFor(['server:time/gone', 'server:time/now'], ['server:time/gone']),
      labelsFor(['server:gone'], ['server:gone']),
    ];
    const [inServer, ofServer] = await Promise.all(refusals.map((refusal) => refusal.catch((error: Error) => error)));
    expect(inServer).toMatchObject({ code: 'unknown_tool_id', message: expect.stringMatching(/Known are: server:time\/now\.$/) });
    expect(ofServer).toMatchObject({ code: 'unknown_tool_id', message: expect.stringMatching(/Known are: none\.$/) });
  });

  it('sees these alone in the list', async () => {
    const list = (tools: string[]) => catalog().list(callerWith(tools), AbortSignal.timeout(1_000));
    expect((await list(['server:time/zone', 'server:extra'])).map((tool) => tool.id)).toEqual(['time/zone', 'extra/more']);
    expect(await list([])).toEqual([]);
  });
});
