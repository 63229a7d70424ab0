import { describe, expect, it } from 'vitest';
import { extractDataUris } from '../../../src/chat/results/extract-data-uris.ts';

const picture = `data:image/png;base64,${'A'.repeat(4_096)}`;

describe('files in a result', () => {
  it('are taken out at any depth, all of them, and a note stands in their place [S4-34]', () => {
    const value = {
      shots: [
        { at: 1, image: picture },
        { at: 2, image: picture },
      ],
      note: 'fine',
    };
    const { value: left, files } = extractDataUris(value);
    expect(left).toEqual({
      shots: [
        { at: 1, image: '[file 1: image/png, 3 kB, not shown here]' },
        { at: 2, image: '[file 2: image/png, 3 kB, not shown here]' },
      ],
      note: 'fine',
    });
    expect(files).toEqual([
      { type: 'image/png', url: picture, sizeBytes: 3_072, mention: '[file 1: image/png, 3 kB, not shown here]' },
      { type: 'image/png', url: picture, sizeBytes: 3_072, mention: '[file 2: image/png, 3 kB, not shown here]' },
    ]);
  });

  it.each([
    [`data:,${'x'.repeat(400)}`, 'text/plain'],
    [`data:text/csv;charset=utf-8,${'a,b '.repeat(100)}`, 'text/csv'],
    [`DATA:image/png;base64,${'A'.repeat(400)}`, undefined],
  ])('%s is read as the type that it states', (text, type) => {
    expect(extractDataUris([text]).files.map((file) => file.type)).toEqual(type === undefined ? [] : [type]);
  });

  it.each([['data:image/gif;base64,R0lGODlh'], [`data: ${'about weather '.repeat(40)}`], [`dataset:${'x'.repeat(400)}`]])(
    '%s stays as it is',
    (text) => {
      const value = { text };
      expect(extractDataUris(value)).toEqual({ value, files: [] });
      expect(extractDataUris(value).value).toBe(value);
    },
  );
});
