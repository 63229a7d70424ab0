import { expect, it } from 'vitest';
import { explainJsonFault } from '../../../src/shared/json/explain-json-fault.ts';

it.each([
  [`{'model': "a"}`, 1, 2, /single quotes/],
  [`'{"model": "a"}'`, 1, 1, /without quotes around it/],
  [`{\u201cmodel\u201d: 1}`, 1, 2, /typographic quotes/],
  [`{"a": 1,\n "b": [}`, 2, 8, /lacks a value/],
  [`{"a": 1,\n}`, 2, 1, /comma too many/],
  [`["a" "b"]`, 1, 6, /lacks a comma/],
  [`{"a": None}`, 1, 7, /Python/],
  [`{"a": NaN}`, 1, 7, /null/],
  [`{a: 1}`, 1, 2, /without double quotes/],
  [`{"a" 1}`, 1, 6, /colon/],
  [`{"a": 1 // one\n}`, 1, 9, /comment/],
  [`{"a": {"b": 1}`, 1, 15, /ends too early/],
  [`{"a": 1} {"b": 2}`, 1, 10, /after its end/],
  [`{"a": "x\ny"}`, 1, 7, /does not end/],
  [`hello`, 1, 1, /lacks a value/],
  [``, 1, 1, /ends too early/],
  [`[01]`, 1, 3, /lacks a comma/],
])('says where %j stops being JSON, and why', (text, line, column, problem) => {
  expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
  expect(explainJsonFault(text)).toEqual({ line, column, problem: expect.stringMatching(problem) });
});

it.each([`{"a": [1, -2.5e3, true, null, {"b\\"\\u00e9": "\\n"}], "c": {}, "d": []}`, ` "text" `, `0`])('finds no fault in %s', (text) => {
  expect(() => JSON.parse(text) as unknown).not.toThrow();
  expect(explainJsonFault(text)).toBeUndefined();
});

it('quotes nothing, because the text may hold a key', () => {
  expect(JSON.stringify(explainJsonFault(`{"key": sk-secret}`))).not.toContain('secret');
});
