import { describe, expect, it, onTestFinished } from 'vitest';
import type { Tool, ToolOffer, ToolSpec } from '../../../src/core/tools/tool.ts';
import { lazySpec } from '../../../src/tools/definitions/lazy-spec.ts';
import { nameFunctions, offeredFunctions, offeredTokens } from '../../../src/tools/catalog/named-functions.ts';
import { offerTools, chosenFunctions } from '../../../src/tools/catalog/offer-tools.ts';
import type { Candidate } from '../../../src/tools/definitions/tool-source.ts';
import { createFunctionSearches } from '../../../src/tools/catalog/search-functions.ts';
import { runContext } from '../../_support/tools.ts';
import { functionTokens } from '../../../src/tools/catalog/cut/cut-spec.ts';

function candidate(server: string, name: string, description: string, isNamed = false): Candidate {
  return {
    wanted: name,
    key: `${server} ${name}`,
    isNamed,
    toTool: (offeredName): Tool => ({
      spec: { name: offeredName, description, parameters: { type: 'object', properties: {} } },
      label: `${server}/${name}`,
      server,
      kind: 'openapi',
      run: async () => ({ type: 'result', value: name }),
    }),
  };
}

const filler = (server: string, count: number): Candidate[] =>
  Array.from({ length: count }, (_, index) => candidate(server, `${server}_${index}`, `Number ${index} of many.`));
const searches = createFunctionSearches();
const searchIn = (specs: readonly ToolSpec[]) => searches(specs, 'ada');

async function offerOf(groups: Candidate[][], query = '', callerNames: string[] = []): Promise<ToolOffer> {
  return offerTools(await nameFunctions(groups, callerNames), { query: () => query, searchIn });
}

const ask = (tool: Tool | undefined, query: string) => {
  const run = runContext({});
  return tool?.run({ callId: 'c', args: { query }, run, signal: run.signal, timeoutMs: 1_000 });
};

describe('an offer', () => {
  it('is everything, while a model can hold it', async () => {
    const { tools, finder, warnings } = await offerOf([filler('a', offeredFunctions)]);
    expect(tools.size).toBe(offeredFunctions);
    expect([finder, warnings]).toEqual([undefined, []]);
  });

  it('of too many holds the ones that fit the conversation, in their order, and never more than are to be chosen', async () => {
    const groups = [
      [...filler('a', 200), candidate('a', 'send_mail', 'Sends a letter.')],
      [candidate('b', 'read_mail', 'The mail box.'), ...filler('b', 200)],
    ];
    const { tools, warnings } = await offerOf(groups, 'did I get mail?', ['own']);
    const names = [...tools.keys()];
    expect(names.filter((name) => name.endsWith('mail'))).toEqual(['send_mail', 'read_mail']);
    expect(names).toHaveLength(chosenFunctions);
    expect(warnings.map(({ code }) => code)).toEqual(['functions_left_out']);
  });

  it('holds something of every server where the conversation matches nothing', async () => {
    const { tools } = await offerOf([filler('a', 300), filler('b', 3)], 'привет');
    expect([...tools.keys()]).toEqual(expect.arrayContaining(['a_0', 'b_0', 'b_1', 'b_2']));
  });

  it('holds what the request names before what fits', async () => {
    const groups = [[...filler('mail', 200), candidate('mail', 'wanted_by_name', 'Else.', true)]];
    const { tools } = await offerOf(groups, 'mail many number');
    expect(tools.has('wanted_by_name')).toBe(true);
  });

  it('stays within its tokens, whatever is registered', async () => {
    const large = 'long '.repeat((offeredTokens * 4) / 5 / 10);
    const groups = [Array.from({ length: 20 }, (_, index) => candidate('a', `large_${index}`, large)), [candidate('b', 'small', 'Small.')]];
    const { tools } = await offerOf(groups, 'large');
    const tokens = [...tools.values()].reduce((sum, tool) => sum + JSON.stringify(tool.spec).length / 4, 0);
    expect(tokens).toBeLessThanOrEqual(offeredTokens);
    expect(tools.has('small')).toBe(true);
  });

  it('comes with a tool that finds the others', async () => {
    const groups = [
      [...filler('a', 200), candidate('a', 'rename_album', 'Gives an album another name.'), candidate('a', 'find_tools', 'Taken.')],
    ];
    const { finder, tools } = await offerOf(groups);
    expect(finder?.tool.spec.name).toBe('find_tools_2');
    expect(finder?.tool.spec.description).toContain('a (202)');
    expect(tools.has('rename_album')).toBe(false);
    const outcome = await ask(finder?.tool, 'rename album');
    expect(outcome).toMatchObject({ type: 'result', offers: expect.arrayContaining(['rename_album']) });
    expect(finder?.deferred.get('rename_album')?.label).toBe('a/rename_album');
    expect(await ask(finder?.tool, 'qqqq')).toMatchObject({ type: 'error', code: 'tool_error' });
  });
});

describe('a function that is cut', () => {
  /** Functions that are too large to be offered whole; each build of a schema is noted with the turn of the event loop in which it happened. */
  function largeOnes(count: number) {
    const built: { name: string; turn: number }[] = [];
    let turn = 0;
    let counter = setImmediate(function next() {
      turn += 1;
      counter = setImmediate(next);
    });
    onTestFinished(() => clearImmediate(counter));
    const group = Array.from({ length: count }, (_, index): Candidate => {
      const name = `large_${index}`;
      const properties = Object.fromEntries(Array.from({ length: 100 }, (_entry, at) => [`p${at}`, { type: 'string' as const }]));
      const build = () => {
        built.push({ name, turn });
        return { type: 'object', properties };
      };
      const spec = lazySpec({ name, description: 'Large.' }, { tokens: functionTokens * 2, parameterWords: () => '', build });
      return { ...candidate('a', name, ''), spec, toTool: (offered) => ({ ...candidate('a', name, '').toTool(offered), spec }) };
    });
    return { group, built };
  }

  it('is built once, in a turn of its own, before it is offered or found', async () => {
    const { group, built } = largeOnes(12);
    const { tools, finder } = await offerOf([group]);
    for (let reading = 0; reading < 3; reading += 1) for (const { spec } of tools.values()) expect(spec.parameters['type']).toBe('object');
    expect(built.map(({ name }) => name).toSorted()).toEqual([...tools.keys()].toSorted());
    const found = await ask(finder?.tool, 'large_11');
    const offers = found?.type === 'result' ? (found.offers ?? []) : [];
    expect(offers).toContain('large_11');
    for (const name of offers) expect(finder?.deferred.get(name)?.spec.parameters['type']).toBe('object');
    expect(new Set(built.map(({ name }) => name)).size).toBe(built.length);
    expect(new Set(built.map(({ turn }) => turn)).size).toBe(built.length);
  });
});
