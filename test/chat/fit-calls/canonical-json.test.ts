import { expect, it } from 'vitest';
import { canonicalJson } from '../../../src/chat/fit-calls/canonical-json.ts';
import { parseJson } from '../../../src/shared/json/parse-exactly.ts';

const canonical = (text: string): string => canonicalJson(parseJson(text) ?? null);

it('neighbouring numbers that are one JavaScript number differ, whatever the order of keys', () => {
  expect(canonical('{"b":9007199254740993,"a":[1e400]}')).toBe('{"a":[1e400],"b":9007199254740993}');
  expect(canonical('{"b":9007199254740992}')).not.toBe(canonical('{"b":9007199254740993}'));
});
