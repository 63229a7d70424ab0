import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ToolCallParserOptions } from '../../../src/chat/parse-tool-calls/tool-call-parser.ts';
import { differences, judge, piecesOf } from './judge-output.ts';
import type { OutputCase } from './judge-output.ts';

const place = process.env['MODEL_OUTPUTS'];
const file = place !== undefined && statSync(place).isDirectory() ? join(place, 'model-outputs.jsonl') : place;
const cases = (file === undefined ? '' : readFileSync(file, 'utf8'))
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as OutputCase);

type Policy = 'prompt' | 'rescue';

function optionsOf({ tools, options }: OutputCase, policy: Policy): ToolCallParserOptions {
  return {
    tools,
    ...(policy === 'rescue' ? { rescue: { isQuoted: () => false } } : {}),
    ...(options?.think_open === true ? { isThinkingOpen: true } : {}),
    ...(options?.mode === 'react' ? { isReact: true } : {}),
  };
}

/**
 * The set says `both` for some answers that the gateway's own rules for native answers leave alone: a name that is not written as it is offered,
 * and bare JSON with text behind it. Nothing may run then.
 */
function expectedOf(output: OutputCase, policy: Policy): OutputCase {
  if (policy === 'prompt') return output;
  const { expect: expected, text } = output;
  const isRenamed = expected.calls.some((call) => !hasName(text, call.name));
  const isBareWithText = expected.calls.length > 0 && /^\s*[{[]"/.test(text) && (expected.content ?? '') !== '';
  if (!isRenamed && !isBareWithText) return output;
  return { ...output, expect: { ...expected, calls: [], content: null, loose: ['content'] } };
}

function hasName(text: string, name: string): boolean {
  return text
    .split(name)
    .slice(1)
    .some((after) => !/^\w/.test(after));
}

const runs = cases.flatMap((output) => {
  const policies: Policy[] = output.policy === 'both' ? ['prompt', 'rescue'] : [output.policy];
  return policies.map((policy) => ({ id: output.id, policy, output }));
});

describe.skipIf(file === undefined)('recorded model outputs (MODEL_OUTPUTS)', () => {
  test('there are cases to read', () => expect(runs.length).toBeGreaterThan(600));

  test.each(runs)('$id, $policy', ({ output, policy }) => {
    const options = optionsOf(output, policy);
    const isCut = output.finish_reason === 'length';
    const { text, tools } = output;
    const pieces = piecesOf([text], options, isCut);
    const read = judge(pieces, tools);
    const expected = expectedOf(output, policy);
    expect(differences(read, expected)).toEqual([]);
    // As bare JSON it is data on the native path.
    const isData = policy === 'rescue' && /^\s*[{[]/.test(text);
    expect(read.refused).toEqual(expect.arrayContaining(isData ? [] : (expected.expect.invalid ?? [])));

    const wrongCuts = Array.from(text, (_character, index) => index + 1).filter((cut) => {
      const parts = piecesOf([text.slice(0, cut), text.slice(cut)], options, isCut);
      return JSON.stringify(parts) !== JSON.stringify(pieces);
    });
    expect(wrongCuts).toEqual([]);
    expect(piecesOf(text.split(''), options, isCut)).toEqual(pieces);
  });
});
