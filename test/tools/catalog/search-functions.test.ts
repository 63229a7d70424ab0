import { describe, expect, it } from 'vitest';
import type { ToolSpec } from '../../../src/core/tools/tool.ts';
import { createFunctionSearches, maxIndexes } from '../../../src/tools/catalog/search-functions.ts';

const spec = (name: string, description: string, parameters: Record<string, string> = {}): ToolSpec => ({
  name,
  description,
  parameters: {
    type: 'object',
    properties: Object.fromEntries(Object.entries(parameters).map(([key, text]) => [key, { type: 'string', description: text }])),
  },
});

const specs = [
  spec('getSystemStatus', 'The state of the server.'),
  spec('issues_create_comment', 'Writes a comment below an issue.', { body: 'Markdown text' }),
  spec('listQueue', 'Everything that is being downloaded.'),
  spec('search_albums', 'Finds albums of photos.', { owner: 'Whose pictures' }),
  spec('deleteEpisodes', 'Removes épisodes from the library.'),
];

describe('the search for functions', () => {
  it.each([
    ['please comment on that issue', 'issues_create_comment'],
    ['what is the system status?', 'getSystemStatus'],
    ['what does it download just now', 'listQueue'],
    ['show me the album of our holidays', 'search_albums'],
    ['whose picture is this', 'search_albums'],
    ['delete the last episode', 'deleteEpisodes'],
  ])('finds by %j what it is about', async (query, name) => {
    const search = await createFunctionSearches()(specs, 'ada');
    const [best] = await search(query, 5);
    expect(specs[best ?? -1]?.name).toBe(name);
  });

  it('gives nothing for words that stand in every question', async () => {
    const search = await createFunctionSearches()(specs, 'ada');
    expect(await search('what is this and how can I have it?', 5)).toEqual([]);
  });

  it('keeps to the limit', async () => {
    const search = await createFunctionSearches()(
      Array.from({ length: 30 }, (_, index) => spec(`photo_${index}`, 'A photo.')),
      'ada',
    );
    expect(await search('photo', 7)).toHaveLength(7);
  });

  it('finds in a long list by the name and the first words of the description', async () => {
    const filler = Array.from({ length: 5_000 }, (_, index) => spec(`photo_${index}`, 'A photo.'));
    const long = spec('forecast', `The weather of tomorrow. ${'Read the manual. '.repeat(1_000)}Umbrella.`);
    const search = await createFunctionSearches()([...filler, long], 'ada');
    expect(await search('weather', 5)).toEqual([5_000]);
    expect(await search('forecast', 5)).toEqual([5_000]);
    expect(await search('umbrella', 5)).toEqual([]);
  });

  it('is made anew for a list in which one function has changed', async () => {
    const searches = createFunctionSearches();
    expect(await (await searches(specs, 'ada'))('weather', 5)).toEqual([]);
    const changed = await searches([...specs.slice(0, -1), spec('forecast', 'The weather of tomorrow.')], 'ada');
    expect(await changed('weather', 5)).toEqual([4]);
  });

  it('is kept for a caller while another one searches ever new lists', async () => {
    const searches = createFunctionSearches();
    const first = searches(specs, 'ada');
    const lists = Array.from({ length: 2 * maxIndexes }, (_, index) => [spec(`photo_${index}`, 'A photo.')]);
    const made = lists.map((list) => searches(list, 'eve'));
    expect(searches(specs, 'ada')).toBe(first);
    expect(searches(lists[0] ?? [], 'eve')).not.toBe(made[0]);
    await Promise.all(made);
  });
});
