import { describe, expect, it } from 'vitest';
import { extractDataUris, resultFiles } from '../../../src/chat/results/extract-data-uris.ts';

const picture = `data:image/png;base64,${'A'.repeat(4_096)}`;

describe('files in a result', () => {
  it('are extracted at any depth and replaced by a note [S4-34]', () => {
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
    [`DATA:image/png;base64,${'A'.repeat(400)}`, 'image/png'],
  ])('have the media type that %s states', (text, type) => {
    expect(extractDataUris([text]).files.map((file) => file.type)).toEqual([type]);
  });

  it('reach the client however short they are; one that is shorter than its note stays in the text [S4-34]', () => {
    const icon = `data:image/gif;base64,${'R0lG'.repeat(16)}AA==`;
    const tiny = 'data:text/plain,hello';
    const { value, files } = extractDataUris({ icon, tiny, words: 'the code' });
    expect(value).toEqual({ icon: '[file 1: image/gif, 1 kB, not shown here]', tiny, words: 'the code' });
    expect(files).toMatchObject([
      { type: 'image/gif', url: icon, sizeBytes: 49 },
      { type: 'text/plain', url: tiny, sizeBytes: 5 },
    ]);
  });

  it('stay in the text beyond the limit', () => {
    const value = Array.from({ length: resultFiles + 1 }, () => picture);
    const found = extractDataUris(value);
    expect(found.files).toHaveLength(resultFiles);
    expect((found.value as string[]).at(-1)).toBe(picture);
  });

  it.each([[`data: ${'about weather '.repeat(40)}`], ['data:about,weather'], [`dataset:${'x'.repeat(400)}`]])(
    '%s stays as it is',
    (text) => {
      const value = { text };
      expect(extractDataUris(value)).toEqual({ value, files: [] });
      expect(extractDataUris(value).value).toBe(value);
    },
  );
});
