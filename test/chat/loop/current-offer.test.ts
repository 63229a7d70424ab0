import { describe, expect, it } from 'vitest';
import { CurrentOffer } from '../../../src/chat/loop/current-offer.ts';
import { limits } from '../../../src/core/limits.ts';
import type { Tool, ToolOffer } from '../../../src/core/tools/tool.ts';
import { toolMap, toolNamed } from '../../_support/tools.ts';

type Options = ConstructorParameters<typeof CurrentOffer>[0];

const finderOf = (...deferred: Tool[]): NonNullable<ToolOffer['finder']> => ({
  tool: toolNamed('find_tools', []),
  deferred: toolMap(...deferred),
});

function offerOf(offer: Partial<ToolOffer>, options: Partial<Options> = {}): CurrentOffer {
  return new CurrentOffer({
    offer: { tools: new Map(), ...offer },
    callerNames: new Set(),
    canReadOn: true,
    contextTokens: undefined,
    demanded: undefined,
    resumed: undefined,
    ...options,
  });
}

const [a, b] = [toolNamed('a', 1), toolNamed('b', 2)];
const shortened = toolNamed('long', 1, { whole: { name: 'long', description: '', parameters: {} } });
const describer = toolNamed('describe_function', {});

describe('the current offer', () => {
  it('begins with the tools, the finder and what tool_choice demands', () => {
    expect(offerOf({ tools: toolMap(a), finder: finderOf(b) }).names).toEqual(['a', 'find_tools']);
    expect(offerOf({ tools: toolMap(a), finder: finderOf(b) }, { demanded: 'b' }).names).toEqual(['a', 'find_tools', 'b']);
  });

  it('of a resumed run has the tools that it had found, and drops former ones that it had not', () => {
    const former = (name: string): Tool => toolNamed(name, 1, { isFormer: true });
    const offer = { tools: toolMap(a, former('old'), former('older')), finder: finderOf(b) };
    expect(offerOf(offer, { resumed: { tools: ['a', 'old', 'b'], results: [] } }).names).toEqual(['a', 'old', 'find_tools', 'b']);
  });

  it('adds the deferred functions that are called by their exact names, once', () => {
    const offer = offerOf({ tools: toolMap(a), finder: finderOf(b) });
    const calls = ['b ', 'a', 'c'].map((name) => ({ id: name, name, arguments: '{}' }));
    const created = new Date(0).toISOString();
    expect(offer.addCalled(calls, 0)).toEqual([
      { type: 'run-event', event: { type: 'config.update', data: { created, tools: 3, added: ['b'], removed: [] } } },
    ]);
    expect(offer.addCalled(calls, 0)).toEqual([]);
    expect(offer.names).toEqual(['a', 'find_tools', 'b']);
  });

  it('adds no more found tools than a request may have', () => {
    const many = Array.from({ length: limits.toolsPerRequest }, (_, index) => toolNamed(`tool_${index}`, 1));
    const offer = offerOf({ tools: toolMap(a), finder: finderOf(...many) });
    offer.addCalled(
      many.map(({ spec: { name } }) => ({ id: name, name, arguments: '{}' })),
      0,
    );
    expect(offer.tools.size).toBe(limits.toolsPerRequest);
  });

  it('has the tool that describes functions only beside a shortened one', () => {
    const offer = offerOf({ tools: toolMap(a), finder: finderOf(shortened), describer });
    expect(offer.names).toEqual(['a', 'find_tools']);
    offer.addCalled([{ id: '1', name: 'long', arguments: '{}' }], 0);
    expect(offer.names).toEqual(['a', 'find_tools', 'long', 'describe_function']);
  });

  it('has read_result once a result is stored, under a name that nobody else has', () => {
    const offer = offerOf({ tools: toolMap(a) }, { callerNames: new Set(['read_result']) });
    offer.addReader();
    expect(offer.names).toEqual(['a']);
    offer.reader?.results.add('long text');
    offer.addReader();
    expect(offer.names).toEqual(['a', 'read_result_2']);
    expect(offerOf({ tools: toolMap(a) }, { canReadOn: false }).reader).toBeUndefined();
  });

  it('is replaced, and reports what was added and removed, while the offer that other chats share stays as it is', () => {
    const tools = toolMap(a);
    const offer = offerOf({ tools });
    const before = offer.names;
    offer.replace({ tools: toolMap(b), warnings: [] });
    expect([...tools.keys()]).toEqual(['a']);
    expect(offer.names).toEqual(['b']);
    expect(offer.changeEvents(before, { preset: 'p' }, [{ code: 'c', message: 'M.' }])).toMatchObject([
      { event: { type: 'config.update', data: { preset: 'p', tools: 1, functions: ['b'], added: ['b'], removed: ['a'] } } },
      { event: { type: 'warning', data: { code: 'c', message: 'M.' } } },
    ]);
  });

  it('keeps found tools when it is renewed', () => {
    const offer = offerOf({ tools: toolMap(a), finder: finderOf(b) });
    offer.addCalled([{ id: '1', name: 'b', arguments: '{}' }], 0);
    offer.renew({ tools: toolMap(a), finder: finderOf(b), warnings: [] });
    expect(offer.names).toEqual(['a', 'find_tools', 'b']);
  });

  it('lists its tools and the deferred ones as entries of tool_ids', () => {
    const known = toolNamed('known', 1, { otherNames: ['time/known', 'server:time/known'] });
    const deferred = toolNamed('more', 1, { otherNames: ['function:more'] });
    expect(offerOf({ tools: toolMap(a, known), finder: finderOf(deferred) }).toolIds()).toEqual(['server:time/known', 'function:more']);
  });
});
