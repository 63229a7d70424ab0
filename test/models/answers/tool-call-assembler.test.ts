import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/core/limits.ts';
import { ToolCallAssembler } from '../../../src/models/answers/tool-call-assembler.ts';

const names = new Set(['get', 'get_time', 'get_weather', 'roll_dice']);

function assemble(fragments: unknown[], known: ReadonlySet<string> = names): string[] {
  let count = 0;
  const assembler = new ToolCallAssembler({ names: known, makeId: () => `own_${(count += 1)}` });
  for (const fragment of fragments) assembler.add(fragment);
  return assembler.finish().map((call) => `${call.id} ${call.name} ${call.arguments}`);
}

/** A fragment in short: fields that are undefined are left out. */
function fragment(index?: unknown, id?: unknown, name?: unknown, args?: unknown): unknown {
  const drop = (object: object): object => Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
  return drop({ index, id, function: drop({ name, arguments: args }) });
}

const cases: [title: string, fragments: unknown[], calls: string[]][] = [
  [
    'one call in pieces',
    [fragment(0, 'a', 'get_time', ''), fragment(0, undefined, undefined, '{"z"'), fragment(0, undefined, undefined, ':1}')],
    ['a get_time {"z":1}'],
  ],
  ['a whole call at once', [fragment(0, 'a', 'get_time', '{"z":1}')], ['a get_time {"z":1}']],
  [
    'no index and no id',
    [fragment(undefined, undefined, 'get_time', '{"z"'), fragment(undefined, undefined, undefined, ':1}')],
    ['own_1 get_time {"z":1}'],
  ],
  [
    'several whole calls without index and id',
    [fragment(undefined, '', 'get_time', '{}'), fragment(undefined, '', 'get_weather', '{}')],
    ['own_1 get_time {}', 'own_2 get_weather {}'],
  ],
  [
    'the same call twice without index and id',
    [fragment(undefined, '', 'roll_dice', '{}'), fragment(undefined, '', 'roll_dice', '{}')],
    ['own_1 roll_dice {}', 'own_2 roll_dice {}'],
  ],
  [
    'indexes as texts',
    [fragment('0', 'a', 'get_time', ''), fragment('1', 'b', 'get_weather', ''), fragment('0', undefined, undefined, '{"z":1}')],
    ['a get_time {"z":1}', 'b get_weather {}'],
  ],
  [
    'arguments that grow with every fragment',
    [
      fragment(0, 'a', 'get_time', '{"z"'),
      fragment(0, undefined, undefined, '{"z": "a'),
      fragment(0, undefined, undefined, '{"z": "a}b"'),
      fragment(0, undefined, undefined, '{"z": "a}b", "y": 1}'),
    ],
    ['a get_time {"z": "a}b", "y": 1}'],
  ],
  [
    'arguments that grow with every fragment, with the name and the id, then another call',
    [
      fragment(0, 'a', 'get_time', '{"z'),
      fragment(0, 'a', 'get_time', '{"z":1}'),
      fragment(1, 'b', 'get_time', '{"z'),
      fragment(1, 'b', 'get_time', '{"z":2}'),
    ],
    ['a get_time {"z":1}', 'b get_time {"z":2}'],
  ],
  [
    'fragments that only look like growing ones',
    [fragment(0, 'a', 'get_time', '{"z":'), fragment(0, undefined, undefined, '{"z":1}'), fragment(0, undefined, undefined, '}')],
    ['a get_time {"z":{"z":1}}'],
  ],
  ['a name that is repeated in itself', [fragment(0, 'a', 'get_timeget_time', '{"z":1}')], ['a get_time {"z":1}']],
  [
    'a name to which itself is added with every fragment',
    [fragment(0, 'a', 'get_time', ''), fragment(0, 'a', 'get_timeget_time', '{"z":1}')],
    ['a get_time {"z":1}'],
  ],
  ['a name that only begins like a repetition', [fragment(0, 'a', 'getget_time', '{"z":1}')], ['a getget_time {"z":1}']],
  [
    'arguments under the word of the schema',
    [{ index: 0, id: 'a', function: { name: 'get_time', parameters: { z: 1 } } }],
    ['a get_time {"z":1}'],
  ],
  [
    'arguments under the word of Anthropic',
    [{ index: 0, id: 'a', function: { name: 'get_time', input: { z: 1 } } }],
    ['a get_time {"z":1}'],
  ],
  ["Kimi's id as the name", [fragment(0, 'a', 'functions.get_time:0', '{"z":1}')], ['a functions.get_time {"z":1}']],
  ['tokens behind the name', [fragment(0, 'a', 'get_time<|channel|>commentary', '{"z":1}')], ['a get_time {"z":1}']],
  [
    'index 0 for all',
    [fragment(0, 'a', 'get_time', '{"z":1}'), fragment(0, 'b', 'get_time', '{"z":2}')],
    ['a get_time {"z":1}', 'b get_time {"z":2}'],
  ],
  [
    'index 0 for all, one function, no arguments',
    [fragment(0, 'a', 'roll_dice', ''), fragment(0, 'b', 'roll_dice', '')],
    ['a roll_dice {}', 'b roll_dice {}'],
  ],
  [
    'index 0 for all, in pieces',
    [
      fragment(0, 'a', 'get_time', ''),
      fragment(0, undefined, undefined, '{}'),
      fragment(0, 'b', 'get_weather', ''),
      fragment(0, undefined, undefined, '{"c":1}'),
    ],
    ['a get_time {}', 'b get_weather {"c":1}'],
  ],
  [
    'index 0 for all and no ids',
    [fragment(0, undefined, 'get_time', '{"z":1}'), fragment(0, undefined, 'get_time', '{"z":2}')],
    ['own_1 get_time {"z":1}', 'own_2 get_time {"z":2}'],
  ],
  [
    'index 0 for all, no ids, the second in pieces',
    [
      fragment(0, undefined, 'get_time', '{"z":1}'),
      fragment(0, undefined, 'get_weather', ''),
      fragment(0, undefined, undefined, '{"c":1}'),
    ],
    ['own_1 get_time {"z":1}', 'own_2 get_weather {"c":1}'],
  ],
  ['a first index of 1', [fragment(1, 'a', 'get_time', '{"z"'), fragment(1, undefined, undefined, ':1}')], ['a get_time {"z":1}']],
  ['an id that comes late', [fragment(0, undefined, 'get_time', ''), fragment(0, 'a', undefined, '{}')], ['a get_time {}']],
  [
    'a blank id on later fragments',
    [fragment(0, 'a', 'get_time', ''), fragment(0, '', undefined, '{"z"'), fragment(0, '', undefined, ':1}')],
    ['a get_time {"z":1}'],
  ],
  [
    'the id on every fragment, without index',
    [
      fragment(undefined, 'a', 'get_time', '{'),
      fragment(undefined, 'b', 'get_weather', '{'),
      fragment(undefined, 'a', undefined, '}'),
      fragment(undefined, 'b', undefined, '}'),
    ],
    ['a get_time {}', 'b get_weather {}'],
  ],
  [
    'a new id on every fragment',
    [fragment(0, 'a', 'get_time', '{"z"'), fragment(0, 'b', undefined, ':1'), fragment(0, 'c', undefined, '}')],
    ['a get_time {"z":1}'],
  ],
  ['ids that are numbers', [fragment(0, 7, 'get_time', '{}')], ['7 get_time {}']],
  [
    'the same id for two calls',
    [fragment(0, 'a', 'get_time', '{}'), fragment(1, 'a', 'get_weather', '{}')],
    ['a get_time {}', 'own_1 get_weather {}'],
  ],
  [
    'the same id for two calls without index',
    [fragment(undefined, 'a', 'get_time', '{"z":1}'), fragment(undefined, 'a', 'get_time', '{"z":2}')],
    ['a get_time {"z":1}', 'own_1 get_time {"z":2}'],
  ],
  [
    'the whole call once more at the end',
    [fragment(0, 'a', 'get_time', '{"z"'), fragment(0, undefined, undefined, ':1}'), fragment(0, 'a', 'get_time', '{"z":1}')],
    ['a get_time {"z":1}'],
  ],
  [
    'the name in pieces',
    [fragment(0, 'a', 'get_', ''), fragment(0, undefined, 'time', ''), fragment(0, undefined, undefined, '{}')],
    ['a get_time {}'],
  ],
  [
    'the name in pieces, each with the index alone',
    [fragment(0, undefined, 'get', ''), fragment(0, undefined, '_weather', '{}')],
    ['own_1 get_weather {}'],
  ],
  [
    'the whole name on every fragment',
    [fragment(0, 'a', 'get_time', '{"z"'), fragment(0, undefined, 'get_time', ':1}'), fragment(0, undefined, 'get_time', '')],
    ['a get_time {"z":1}'],
  ],
  ['the name from its start on every fragment', [fragment(0, 'a', 'get', ''), fragment(0, 'a', 'get_time', '{}')], ['a get_time {}']],
  [
    'names that are null or blank',
    [fragment(0, 'a', 'get_time', ''), fragment(0, null, null, '{'), fragment(0, null, '', '}')],
    ['a get_time {}'],
  ],
  ['a name that comes last', [fragment(0, 'a', undefined, '{"z":1}'), fragment(0, undefined, 'get_time', '')], ['a get_time {"z":1}']],
  [
    'two calls without arguments, ids and index',
    [fragment(undefined, undefined, 'get_time', ''), fragment(undefined, undefined, 'get_weather', '')],
    ['own_1 get_time {}', 'own_2 get_weather {}'],
  ],
  [
    'arguments as an object',
    [fragment(0, 'a', 'get_time', { z: [1, 'x'] }), fragment(0, 'b', 'get_time', {})],
    ['a get_time {"z":[1,"x"]}', 'b get_time {}'],
  ],
  [
    'one id under two indexes, and no name with the second',
    [fragment(0, 'a', 'get_time', ''), fragment(1, 'a', undefined, '{"z"'), fragment(1, undefined, undefined, ':1}')],
    ['a get_time {"z":1}'],
  ],
  [
    'one id under two indexes, with {} first',
    [fragment(0, 'a', 'get_time', '{}'), fragment(1, 'a', 'get_time', '{"z":1}')],
    ['a get_time {"z":1}'],
  ],
  [
    'one id under two indexes, with {} last',
    [fragment(0, 'a', 'get_time', '{"z":1}'), fragment(1, 'a', 'get_time', ''), fragment(2, 'a', 'get_time', '{}')],
    ['a get_time {"z":1}'],
  ],
  [
    'one id under two indexes, the same twice',
    [fragment(0, 'a', 'get_time', '{"z":1}'), fragment(1, 'a', 'get_time', '{"z"'), fragment(1, 'a', undefined, ':1}')],
    ['a get_time {"z":1}'],
  ],
  [
    'one id under two indexes, with other arguments',
    [
      fragment(0, 'a', 'get_time', ''),
      fragment(0, 'a', undefined, '{"z":1}'),
      fragment(1, 'a', 'get_time', ''),
      fragment(1, 'a', undefined, '{"z":2}'),
    ],
    ['a get_time {"z":1}', 'own_1 get_time {"z":2}'],
  ],
  [
    'a new id and the name on every fragment',
    [
      fragment(0, 'a', 'get_time', ''),
      fragment(0, 'b', 'get_time', '{"z"'),
      fragment(0, 'c', 'get_time', ': {"y": '),
      fragment(0, 'd', 'get_time', '{"x":"a{'),
      fragment(0, 'e', 'get_time', '{b"}}}'),
    ],
    ['a get_time {"z": {"y": {"x":"a{{b"}}}'],
  ],
  [
    'a new id and the name on every fragment, the first ones empty, then another call',
    [
      fragment(0, 'a', 'get_time', ''),
      fragment(0, 'b', 'get_time', ''),
      fragment(0, 'c', 'get_time', '{"z":1}'),
      fragment(0, 'd', 'get_time', '{"z":2}'),
    ],
    ['b get_time {"z":1}', 'd get_time {"z":2}'],
  ],
  [
    'a new id and a new index on every fragment',
    [fragment(0, 'a', 'get_time', '{"z"'), fragment(1, 'b', 'get_time', ':"a'), fragment(2, 'c', undefined, '"}')],
    ['a get_time {"z":"a"}'],
  ],
  [
    'a new index on every fragment, and no ids',
    [fragment(0, 'a', 'get_time', ''), fragment(1, undefined, undefined, '{"z"'), fragment(2, undefined, undefined, ':1}')],
    ['a get_time {"z":1}'],
  ],
  [
    'two calls at the same time, of one function',
    [
      fragment(0, 'a', 'get_time', '{"z"'),
      fragment(1, 'b', 'get_time', '{"z"'),
      fragment(0, undefined, undefined, ':1}'),
      fragment(1, undefined, undefined, ':2}'),
    ],
    ['a get_time {"z":1}', 'b get_time {"z":2}'],
  ],
  [
    'a call behind one that broke off',
    [fragment(0, 'a', 'get_time', '{"z":"Lu'), fragment(0, 'b', 'get_time', '{"z":"Oslo"}')],
    ['a get_time {"z":"Lu', 'b get_time {"z":"Oslo"}'],
  ],
  [
    'arguments as objects that replace each other',
    [fragment(0, 'a', 'get_time', { z: 1 }), fragment(0, undefined, undefined, { z: 1, y: 2 })],
    ['a get_time {"z":1,"y":2}'],
  ],
  [
    'arguments of null, or none',
    [fragment(0, 'a', 'get_time', null), fragment(1, 'b', 'get_weather')],
    ['a get_time {}', 'b get_weather {}'],
  ],
  [
    'an empty object before the real arguments',
    [fragment(0, 'a', 'get_time', '{}'), fragment(0, undefined, undefined, '{"z"'), fragment(0, undefined, undefined, ':1}')],
    ['a get_time {"z":1}'],
  ],
  [
    'a new name where the arguments are complete',
    [fragment(0, 'a', 'get_time', '{"z":"}{"}'), fragment(0, undefined, 'get_weather', '{"c":1}')],
    ['a get_time {"z":"}{"}', 'own_1 get_weather {"c":1}'],
  ],
  [
    'calls that take turns',
    [
      fragment(0, 'a', 'get_time', ''),
      fragment(1, 'b', 'get_weather', ''),
      fragment(0, undefined, undefined, '{"z":'),
      fragment(1, undefined, undefined, '{"c":'),
      fragment(0, undefined, undefined, '1}'),
      fragment(1, undefined, undefined, '2}'),
    ],
    ['a get_time {"z":1}', 'b get_weather {"c":2}'],
  ],
  [
    'calls that begin in another order',
    [fragment(1, 'b', 'get_weather', '{}'), fragment(0, 'a', 'get_time', '{}')],
    ['b get_weather {}', 'a get_time {}'],
  ],
  [
    'a legacy function call',
    [{ name: 'get_time', arguments: '' }, { arguments: '{"z"' }, { arguments: ':1}' }],
    ['own_1 get_time {"z":1}'],
  ],
  ['arguments that are no JSON', [fragment(0, 'a', 'get_time', 'zone=UTC')], ['a get_time zone=UTC']],
  ['arguments that were cut', [fragment(0, 'a', 'get_time', '{"z": "U')], ['a get_time {"z": "U']],
  [
    'arguments under another id and index than their only call',
    [fragment(0, 'a', 'get_time', ''), fragment(1, 'b', undefined, '{"z":1}')],
    ['a get_time {"z":1}'],
  ],
  [
    'arguments that came before the name under another index',
    [fragment(0, undefined, undefined, '{"z":1}'), fragment(1, 'a', 'get_time', '')],
    ['a get_time {"z":1}'],
  ],
  [
    'no call without arguments where some belong to none of several calls',
    [fragment(0, 'a', 'get_time', ''), fragment(1, 'b', 'fly_to_moon', '{"y":2}'), fragment(2, 'c', undefined, '{"z":1}')],
    ['a get_time unreadable', 'b fly_to_moon {"y":2}'],
  ],
  [
    'no call without arguments where those of two came to one',
    [
      fragment(0, 'a', 'get_time', ''),
      fragment(1, 'b', 'fly_to_moon', ''),
      fragment(undefined, undefined, undefined, '{"z":1}'),
      fragment(undefined, undefined, undefined, '{"y":2}'),
    ],
    ['a get_time unreadable', 'b fly_to_moon {"z":1}{"y":2}'],
  ],
  ['arguments beside the function', [{ index: 0, id: 'a', function: { name: 'get_time' }, arguments: '{"z":1}' }], ['a get_time {"z":1}']],
  [
    'arguments under the word of Anthropic',
    [{ index: 0, id: 'a', function: { name: 'get_time', input: { z: 1 } } }],
    ['a get_time {"z":1}'],
  ],
  ['a call that never had a name', [fragment(0, 'a', undefined, '{"z":1}'), fragment(1, 'b', 'get_time', '{}')], ['b get_time {}']],
  [
    'garbage',
    [null, 1, 'x', [], {}, { function: 3 }, { index: 'x', function: { name: 7, arguments: [1] } }, fragment(-1, {}, {}, true)],
    [],
  ],
];

describe('ToolCallAssembler', () => {
  it.each(cases)('assembles %s', (_, fragments, calls) => {
    expect(assemble(fragments)).toEqual(calls);
  });

  it('takes a name apart only where the offered names say so', () => {
    const fragments = [fragment(0, undefined, 'fly_', ''), fragment(0, undefined, 'to_moon', '{}')];
    expect(assemble(fragments, new Set())).toEqual(['own_1 fly_to_moon {}']);
    expect(assemble(fragments)).toEqual(['own_1 fly_to_moon {}']);
  });

  it('keeps no more of a call than shows that it is too long', () => {
    const pieces = Array.from({ length: 100_000 }, () => fragment(0, undefined, 'get_time', '{"deep":'));
    const assembler = new ToolCallAssembler();
    for (const piece of pieces) assembler.add(piece);
    const [call] = assembler.finish();
    expect(call?.arguments.length).toBe(limits.argumentsBytes + 1);
  });

  it.each([
    ['with functions on offer', names],
    ['without', new Set<string>()],
  ])('cuts a name that goes on, so that it is no function: %s', (_, known) => {
    const pieces = Array.from({ length: 20_000 }, (_piece, count) => fragment(0, 'a', String(count).padStart(100, 'x'), ''));
    const assembler = new ToolCallAssembler({ names: known });
    for (const piece of pieces) assembler.add(piece);
    const calls = assembler.finish();
    const start = pieces.slice(0, 3).map((_piece, count) => String(count).padStart(100, 'x'));
    expect(calls.map((call) => call.name)).toEqual([`${start.join('').slice(0, 256)}…`]);
  });

  it.each([
    ['x'.repeat(256), 'x'.repeat(256)],
    ['x'.repeat(257), `${'x'.repeat(256)}…`],
    ['x'.repeat(1_000_000), `${'x'.repeat(256)}…`],
    [`${'x'.repeat(255)}🕑`, `${'x'.repeat(255)}\uFFFD…`],
  ])('cuts a whole name only where it is too long', (given, kept) => {
    const whole = fragment(0, 'a', given, '{"z":1}');
    expect(assemble([whole, whole])).toEqual([`a ${kept} {"z":1}`]);
  });

  it('takes a name that was cut for no function, though one has the same beginning', () => {
    const offered = 'x'.repeat(256);
    const [call] = assemble([fragment(0, 'a', `${offered}y`, '{}')], new Set([offered]));
    expect(call).not.toContain(`${offered} `);
  });

  it('keeps one call more than a round may have', () => {
    const fragments = Array.from({ length: 500 }, (_, index) => fragment(index, `c${index}`, 'get_time', '{}'));
    expect(assemble(fragments)).toHaveLength(limits.callsPerRound + 1);
  });

  it('runs no call whose arguments are nested beyond every stack', () => {
    let deep: unknown = {};
    for (let level = 0; level < 50_000; level += 1) deep = { deep };
    expect(assemble([fragment(0, 'a', 'get_time', deep)])).toEqual(['a get_time unreadable']);
  });

  it('puts any calls together again, however they were cut and mixed', () => {
    const call = fc.record({
      name: fc.constantFrom(...names),
      args: fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }),
      cuts: fc.array(fc.nat(), { maxLength: 6 }),
    });
    const style = fc.record({ withIds: fc.boolean(), repeatName: fc.boolean(), mixed: fc.boolean() });
    fc.assert(
      fc.property(fc.array(call, { minLength: 1, maxLength: 4 }), style, (calls, { withIds, repeatName, mixed }) => {
        const streams = calls.map(({ name, args, cuts }, index) => {
          const text = JSON.stringify(args);
          const places = [...new Set(cuts.map((place) => place % text.length))].sort((a, b) => a - b);
          const pieces = [0, ...places].map((start, place) => text.slice(start, places[place] ?? text.length));
          return pieces.map((piece, place) =>
            fragment(index, withIds || place === 0 ? `c${index}` : undefined, place === 0 || repeatName ? name : undefined, piece),
          );
        });
        const longest = Math.max(...streams.map((list) => list.length));
        const rounds = Array.from({ length: longest }, (_, round) => streams.flatMap((list) => list.slice(round, round + 1)));
        const expected = calls.map(({ name, args }, index) => `c${index} ${name} ${JSON.stringify(args)}`);
        expect(assemble(mixed ? rounds.flat() : streams.flat())).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });
});
