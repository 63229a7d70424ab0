import { expect, it } from 'vitest';
import { describeUnless, missingVariable } from '../../_support/missing.ts';
import { differences, judge, piecesOf } from './judge-output.ts';
import { expectedOf, optionsOf, recordedRuns } from './recorded-outputs.ts';

const runs = recordedRuns() ?? [];

describeUnless(missingVariable('MODEL_OUTPUTS'), 'recorded model outputs (MODEL_OUTPUTS)', () => {
  it('there are cases to read', () => expect(runs.length).toBeGreaterThan(600));

  it.each(runs)('$id, $policy', ({ output, policy }) => {
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
