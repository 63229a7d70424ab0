import { assert, integer, nat, option, property } from 'fast-check';
import { describe, expect, it } from 'vitest';

import { chooseContextSize } from '../../../src/models/ollama/choose-context-size.ts';
import { estimateTokens, textTokens } from '../../../src/shared/text/estimate-tokens.ts';
import type { ContextSizeRequest } from '../../../src/models/ollama/choose-context-size.ts';

const user = (content: string) => ({ role: 'user' as const, content });
const blank: ContextSizeRequest = {
  messages: [user('Hello')],
  tools: [],
  requested: undefined,
  answerTokens: undefined,
  modelDefault: undefined,
  contextLength: undefined,
  maxContext: 32_768,
  loadedWith: undefined,
};
/** A message that is estimated at about `tokens`. */
const sized = (tokens: number): Partial<ContextSizeRequest> => ({ messages: [user('字'.repeat(tokens - 8))] });

describe('the estimate of tokens', () => {
  it.each([
    ['English', 'The quick brown fox jumps over the lazy dog.', 10, 16],
    ['Chinese', '请告诉我当前大阪的时间', 7, 11],
    ['Japanese', 'いま大阪は何時ですか', 6, 10],
    ['Cyrillic', 'Сколько сейчас времени', 7, 13],
    ['nothing', '', 0, 0],
  ])('is near what tokenizers count, and rather above: %s', (_name, text, least, most) => {
    expect(textTokens(text)).toBeGreaterThanOrEqual(least);
    expect(textTokens(text)).toBeLessThanOrEqual(most);
  });

  it('counts functions, calls and images, and not the length of an image', () => {
    const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(100_000)}` } };
    const call = { id: '1', name: 'add', arguments: '{"a":1}' };
    expect(estimateTokens({ messages: [{ role: 'user', content: [image] }], tools: [] })).toBe(1_032);
    expect(estimateTokens({ messages: [{ role: 'assistant', content: null, toolCalls: [call] }], tools: [] })).toBe(11);
    const long = 'word '.repeat(1_000_000);
    expect(estimateTokens({ messages: [{ role: 'user', content: long }], tools: [] }) / textTokens(long)).toBeCloseTo(1, 3);
    expect(estimateTokens({ messages: [], tools: [{ type: 'function', function: { name: 'add' } }] })).toBeGreaterThan(10);
  });
});

describe('the context', () => {
  it.each<[string, Partial<ContextSizeRequest>, number | undefined, boolean]>([
    ['is left alone while everything fits', {}, undefined, false],
    ['is left alone up to the default, answer included', sized(4_096 - 1_024), undefined, false],
    ['is raised to the next power of two beyond it', sized(4_097 - 1_024), 8_192, false],
    ['holds the answer that was asked for', { ...sized(3_000), answerTokens: 4_000 }, 8_192, false],
    ['does not follow an answer limit that nobody reaches', { ...sized(3_000), answerTokens: 1_000_000 }, 8_192, false],
    ['ends at the configured maximum, with a warning', { ...sized(40_000), contextLength: 131_072 }, 32_768, true],
    ["ends at the model's own maximum, with a warning", { ...sized(9_000), contextLength: 8_192 }, 8_192, true],
    ['may end at a maximum without a warning while the prompt fits', { ...sized(7_500), contextLength: 8_192 }, 8_192, false],
    ["starts from the model's own default", { ...sized(7_000), modelDefault: 16_384 }, undefined, false],
    ["warns where the model's own default is all it has", { ...sized(9_000), modelDefault: 8_192, contextLength: 8_192 }, undefined, true],
    ['stays as the model was loaded', { loadedWith: 16_384 }, 16_384, false],
    ['grows beyond what the model was loaded with', { ...sized(20_000), loadedWith: 16_384 }, 32_768, false],
    ["is the caller's own, larger than needed", { requested: 65_536 }, 65_536, false],
    ["is the caller's own, too small, with a warning", { ...sized(5_000), requested: 2_048 }, 2_048, true],
    ["is the caller's own, however the model was loaded", { requested: 2_048, loadedWith: 16_384 }, 2_048, false],
  ])('%s', (_name, change, numCtx, isWarned) => {
    const choice = chooseContextSize({ ...blank, ...change });
    expect(choice.numCtx).toBe(numCtx);
    expect(choice.warning !== undefined).toBe(isWarned);
  });

  it('warns with numbers and a cure', () => {
    const { warning } = chooseContextSize({ ...blank, ...sized(9_000), contextLength: 8_192 });
    expect(warning).toMatchObject({ type: 'warning', data: { code: 'context_too_small', needed: 9_256, num_ctx: 8_192 } });
    expect(warning).toMatchObject({ data: { message: expect.stringContaining('a model with a larger context') } });
  });

  it('never exceeds a maximum by itself, and never warns of a request that fits', () => {
    assert(
      property(
        nat(60_000),
        option(integer({ min: 512, max: 200_000 }), { nil: undefined }),
        integer({ min: 512, max: 100_000 }),
        (size, contextLength, maxContext) => {
          const { numCtx, warning } = chooseContextSize({ ...blank, ...sized(size + 8), contextLength, maxContext });
          expect(numCtx ?? 0).toBeLessThanOrEqual(Math.min(maxContext, contextLength ?? Infinity));
          expect(warning === undefined).toBe(size + 8 + 256 <= (numCtx ?? 4_096));
        },
      ),
    );
  });
});
