import { describe, expect, it } from 'vitest';
import { callIdFrom, isCountedId, makeCallId } from '../../../src/shared/text/call-ids.ts';

const form = /^[a-zA-Z0-9]{9}$/;

describe('ids of calls', () => {
  it('are nine letters and digits, and differ', () => {
    const ids = Array.from({ length: 1_000 }, () => makeCallId());
    expect(ids.filter((id) => !form.test(id))).toEqual([]);
    expect(new Set(ids).size).toBe(ids.length);
    // All letters and digits occur.
    expect(new Set(ids.join('')).size).toBe(62);
  });

  it('follow from a text', () => {
    const ids = Array.from({ length: 1_000 }, (_, number) => callIdFrom(`text ${number}`));
    expect(ids.filter((id) => !form.test(id))).toEqual([]);
    expect(new Set(ids).size).toBe(ids.length);
    expect(callIdFrom('text 7')).toBe(ids[7]);
  });

  it.each(['call_0', 'functions.search:0', 'search:12', 'search_1', 'call-3', '0', 'toolu_1', 'call_search_2', 'tool_call_1'])(
    'that are counts begin anew in each answer: %s',
    (id) => expect(isCountedId(id, 'search')).toBe(true),
  );

  it.each([
    'D681PevKs',
    '365174485',
    'call_x7k2p9qa',
    'chatcmpl-tool-3f2a1b0c9d8e7f6a',
    'toolu_01A09q90qw90lq917835lq9',
    'call_00_Rk9x2mVb',
    'function-call-13849583495',
    'call_0_b6c1f1b2-64f5-4a2b-9d3f-9d5e0a0b7c11',
  ])('that are random do not: %s', (id) => expect(isCountedId(id, 'search')).toBe(false));
});
