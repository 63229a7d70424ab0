import { describe, expect, it } from 'vitest';
import { readBody, Refusal } from '../../src/demo/time/read-body.ts';

const fields = { start: {}, end: {}, units: { choices: ['seconds', 'minutes', 'hours', 'days'], fallback: 'seconds' } };
const json = 'application/json';

function refusalOf(text: string | undefined, contentType: string | undefined = json): { status: number; detail: unknown } {
  try {
    readBody(text === undefined ? undefined : { contentType, text }, fields);
  } catch (error) {
    if (error instanceof Refusal) return { status: error.status, detail: error.detail };
    throw error;
  }
  throw new Error('was not refused');
}

const notAnObject = 'Input should be a valid dictionary or object to extract fields from';
const choices = "'seconds', 'minutes', 'hours' or 'days'";

describe('readBody', () => {
  it('fills in fallbacks and leaves unknown fields out', () => {
    expect(readBody({ contentType: json, text: '{"start":"a","end":"b","__proto__":"x","more":1}' }, fields)).toEqual({
      start: 'a',
      end: 'b',
      units: 'seconds',
    });
  });

  it.each(['application/json; charset=utf-8', 'APPLICATION/JSON', 'application/vnd.time+json', undefined])(
    'reads JSON of the type %s',
    (contentType) => {
      expect(readBody({ contentType, text: '{"start":"a","end":"b","units":"days"}' }, fields).units).toBe('days');
    },
  );

  // The expected bodies are the answers of FastAPI 0.165 with pydantic 2.14 for the same model.
  it.each([
    ['no body', undefined, [{ type: 'missing', loc: ['body'], msg: 'Field required', input: null }]],
    ['an empty body', '', [{ type: 'missing', loc: ['body'], msg: 'Field required', input: null }]],
    [
      'missing fields',
      '{"units":"days"}',
      [
        { type: 'missing', loc: ['body', 'start'], msg: 'Field required', input: { units: 'days' } },
        { type: 'missing', loc: ['body', 'end'], msg: 'Field required', input: { units: 'days' } },
      ],
    ],
    [
      'wrong types',
      '{"start":true,"end":["x"],"units":null,"zz":1}',
      [
        { type: 'string_type', loc: ['body', 'start'], msg: 'Input should be a valid string', input: true },
        { type: 'string_type', loc: ['body', 'end'], msg: 'Input should be a valid string', input: ['x'] },
        { type: 'literal_error', loc: ['body', 'units'], msg: `Input should be ${choices}`, input: null, ctx: { expected: choices } },
      ],
    ],
    [
      'an unknown choice and a null',
      '{"start":"a","end":null,"units":"weeks"}',
      [
        { type: 'string_type', loc: ['body', 'end'], msg: 'Input should be a valid string', input: null },
        { type: 'literal_error', loc: ['body', 'units'], msg: `Input should be ${choices}`, input: 'weeks', ctx: { expected: choices } },
      ],
    ],
    ['an array', '[]', [{ type: 'model_attributes_type', loc: ['body'], msg: notAnObject, input: null }]],
    ['a text', '"x"', [{ type: 'model_attributes_type', loc: ['body'], msg: notAnObject, input: 'x' }]],
    ['null', 'null', [{ type: 'model_attributes_type', loc: ['body'], msg: notAnObject, input: null }]],
    [
      'broken JSON',
      '{"start":nothing}',
      [{ type: 'json_invalid', loc: ['body', 0], msg: 'JSON decode error', input: {}, ctx: { error: expect.stringContaining('nothing') } }],
    ],
  ])('refuses %s as FastAPI does', (_what, text, detail) => {
    expect(refusalOf(text)).toEqual({ status: 422, detail });
  });

  it('names the position of a fault where the engine does', () => {
    expect(refusalOf('{"start":1,}').detail).toMatchObject([{ type: 'json_invalid', loc: ['body', 11] }]);
  });

  it('does not look into a body of another type', () => {
    const input = '{"start":"a","end":"b"}';
    expect(refusalOf(input, 'text/plain').detail).toEqual([{ type: 'model_attributes_type', loc: ['body'], msg: notAnObject, input }]);
  });

  it('does not find fields on the prototype', () => {
    expect(() => readBody({ contentType: json, text: '{}' }, { constructor: {} })).toThrow(Refusal);
  });
});
