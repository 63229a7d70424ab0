import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { withoutMembers } from '../../../src/models/openai-responses/without-members.ts';

const names = new Set(['tools', 'input']);

describe('withoutMembers', () => {
  it.each([
    ['{"response":{"tools":[{"a":"]}\\""}],"id":"x"}}', '{"response":{"tools":null,"id":"x"}}'],
    ['{"response":{"id":"x","input":"a\\"b"}}', '{"response":{"id":"x","input":null}}'],
    ['{"response": { "tools" : 12 , "input":true}}', '{"response": { "tools" :null, "input":null}}'],
    ['{"tools":[1],"response":{"output":[{"tools":[2]}]}}', '{"tools":[1],"response":{"output":[{"tools":[2]}]}}'],
    ['{"response":["tools",{"tools":1}]}', '{"response":["tools",{"tools":1}]}'],
    ['{"response":{"id":"tools"}}', '{"response":{"id":"tools"}}'],
  ])('makes %s into %s', (text, expected) => {
    expect(withoutMembers(text, names, 2)).toBe(expected);
  });

  it.each(['', '{', '{"response":{"tools":', '{"response":{"tools":[', '{"response":{"tools"', '{"response":{"tools":"', 'x'])(
    'leaves %j invalid',
    (text) => {
      expect(() => JSON.parse(withoutMembers(text, names, 2)) as unknown).toThrow(SyntaxError);
    },
  );

  it('changes nothing else', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom('tools', 'input', 'id', '"', '\\', 'ü'), fc.jsonValue()),
        fc.constantFrom(0, 2),
        (response, indent) => {
          const text = JSON.stringify({ type: 'x', response }, null, indent);
          const expected = Object.fromEntries(Object.entries(response).map(([key, value]) => [key, names.has(key) ? null : value]));
          expect(JSON.parse(withoutMembers(text, names, 2))).toEqual(JSON.parse(JSON.stringify({ type: 'x', response: expected })));
        },
      ),
    );
  });
});
