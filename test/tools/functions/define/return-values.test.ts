import { describe, expect, it } from 'vitest';
import { limits } from '../../../../src/core/limits.ts';
import { abort, changeMessages } from '../../../../src/tools/functions/define/hook-answers.ts';
import { handoff, noReply, toOutcome, withFiles } from '../../../../src/tools/functions/define/return-values.ts';

const bytes = Buffer.from('AAAA', 'base64');
const png = { type: 'image/png', data: bytes };

describe('what a function returns', () => {
  it.each<[name: string, returned: unknown, value: unknown]>([
    ['nothing', undefined, null],
    ['no number', Number.NaN, null],
    ['a date', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['an address', new URL('http://a.test'), 'http://a.test/'],
    ['an object without a prototype', Object.create(null), {}],
    ['an empty object', {}, {}],
    ['what says itself how it is written', { toJSON: () => 7 }, 7],
    [
      'an object of a class',
      new (class Point {
        x = 1;
      })(),
      { x: 1 },
    ],
  ])('is JSON for %s', (_name, returned, value) => {
    expect(toOutcome(returned)).toEqual({ type: 'result', value });
  });

  it.each<[name: string, returned: unknown, message: RegExp]>([
    ['a map', new Map([[1, 2]]), /type Map, of which JSON keeps nothing; return its content/],
    ['a set', new Set([1]), /type Set, of which/],
    ['an answer that was not read', new Response('x'), /type Response, .*return await response\.text\(\) or \.json\(\)/],
    ['an error', new Error('x'), /type Error, of which/],
    [
      'a generator',
      (function* () {
        yield 1;
      })(),
      /Generator, of which/,
    ],
    ['bytes', bytes, /binary data; return it as a file, as in withFiles/],
    ['a buffer', new ArrayBuffer(3), /bytes/],
    ['a function', () => 1, /is a function, which JSON cannot/],
  ])('says what is wrong with %s, in place of losing it', (_name, returned, message) => {
    expect(() => toOutcome(returned)).toThrow(message);
  });
});

describe('files beside a result', () => {
  const file = { type: 'image/png', url: 'data:image/png;base64,AAAA', sizeBytes: 3 };

  it.each<[name: string, returned: unknown, outcome: object]>([
    ['bytes', withFiles('a chart', [png]), { value: 'a chart', files: [file] }],
    ['several calls', withFiles(withFiles(1, [png]), [{ ...png, name: 'b.png' }]), { value: 1, files: [file, { ...file, name: 'b.png' }] }],
    [
      'a text',
      withFiles('', [{ type: 'text/plain', data: 'ü', uri: 'x://1' }]),
      { value: '', files: [{ type: 'text/plain', url: 'data:text/plain;base64,w7w=', sizeBytes: 2, uri: 'x://1' }] },
    ],
    [
      'no result beside them',
      withFiles(undefined, [png, { ...png, name: 'b.png' }]),
      {
        value: '[file for the user: image/png, 1 kB]\n[file for the user: b.png, 1 kB]',
        files: [
          { ...file, mention: '[file for the user: image/png, 1 kB]' },
          { ...file, name: 'b.png', mention: '[file for the user: b.png, 1 kB]' },
        ],
      },
    ],
    ['no file', withFiles(1, []), { value: 1 }],
    ['a silent end', withFiles(noReply(), [png]), { followUp: { type: 'no-reply' }, files: [file] }],
    ['a hand-over', withFiles(handoff('a', 1), [png]), { value: 1, followUp: { type: 'handoff', preset: 'a' }, files: [file] }],
  ])('are there with %s, also out of a thread', (_name, returned, outcome) => {
    expect(toOutcome(returned)).toMatchObject(outcome);
    expect(structuredClone(toOutcome(returned))).toEqual(toOutcome(returned));
  });

  it.each<[name: string, files: unknown, message: RegExp]>([
    ['no list', png, /pass a list, as in withFiles/],
    ['no media type', [{ type: 'png', data: bytes }], /type must be a media type/],
    ['data of another kind', [{ type: 'image/png', data: { base64: 'AAAA' } }], /data must be bytes .* or text; decode base64/],
    ['more than a result may hold', [{ type: 'image/png', data: Buffer.alloc(limits.keptResultBytes) }], /return a URL instead/],
  ])('cannot be %s', (_name, files, message) => {
    expect(() => withFiles('', files as never)).toThrow(message);
  });
});

describe('what a hook returns', () => {
  it('has words for an abort without any', () => {
    expect(abort('no')).toMatchObject({ message: 'no' });
    expect(abort(undefined as never)).toMatchObject({ message: 'A hook ended the run.' });
  });

  it('is refused with the cure where it is no list of messages', () => {
    expect(() => changeMessages('x' as never)).toThrow(/changeMessages expects a list of messages/);
  });
});
