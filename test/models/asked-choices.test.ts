import { describe, expect, it } from 'vitest';
import type { ModelEvent } from '../../src/core/chat/chat.ts';
import type { JsonObject } from '../../src/shared/json/json.ts';
import { createOpenAiBackend } from '../../src/models/openai/openai-compatible.ts';
import { answerWith, askModel } from '../_support/model-answers.ts';
import { events } from '../_support/upstream-server.ts';
import { answerOf } from '../_support/scripted-model.ts';

const connection = { baseUrl: 'http://backend.test/v1', key: undefined, firstByteTimeoutMs: 1_000, idleTimeoutMs: 1_000 };
const strange = [-1, 0.5, 1.5, 127, 128, 1e9, -1e300];
const call = { index: 0, id: 'c', function: { name: 'get_time', arguments: '{}' } };

function say(index: number, part: 'delta' | 'message'): JsonObject {
  return {
    index,
    [part]: { content: `text ${index}`, reasoning: 'hm', refusal: 'no', tool_calls: [call] },
    logprobs: {},
    finish_reason: 'stop',
  };
}

async function ask(indexes: number[], parameters: JsonObject, isWhole: boolean): Promise<ModelEvent[]> {
  const choices = indexes.map((index) => say(index, isWhole ? 'message' : 'delta'));
  const body = isWhole
    ? [JSON.stringify({ choices })]
    : [...events(...choices.map((choice) => ({ choices: [choice] }))), 'data: [DONE]\n\n'];
  const pieces = body.map((text) => Buffer.from(text));
  const backend = createOpenAiBackend(connection, answerWith(pieces, isWhole ? 'application/json' : 'text/event-stream'));
  return Array.fromAsync(answerOf(backend, askModel({ parameters, stream: !isWhole })));
}

/** The choices of which anything at all was said. */
function choicesOf(said: ModelEvent[]): number[] {
  const indexes = said.map((event) => ('choice' in event ? (event.choice ?? 0) : 0));
  return [...new Set(indexes)].toSorted((left, right) => left - right);
}

describe.each([
  ['streamed', false],
  ['whole', true],
] as const)('choices, %s', (_, isWhole) => {
  it.each<[string, JsonObject, number[]]>([
    ['nothing', {}, [0]],
    ['n of 1', { n: 1 }, [0]],
    ['n of 0', { n: 0 }, [0]],
    ['n of null', { n: null }, [0]],
    ['n of no number', { n: 'many' }, [0]],
    ['n of 2', { n: 2 }, [0, 1]],
    ['n of 2, as text', { n: '2' }, [0, 1]],
    ['n of 3', { n: 3 }, [0, 1, 2]],
    ['n of 128', { n: 128 }, [0, 1, 2, 127]],
    ['n beyond every maximum', { n: 1e9 }, [0, 1, 2, 127]],
  ])('are those that the caller asked for with %s', async (_asked, parameters, expected) => {
    const said = await ask([...strange, 0, 1, 2], parameters, isWhole);
    expect(choicesOf(said)).toEqual(expected);
    expect(said.filter((event) => event.type === 'finish')).toHaveLength(expected.length);
    expect(said.filter((event) => event.type === 'text').map((event) => event.text)).toEqual(
      [...strange, 0, 1, 2].filter((index) => expected.includes(index)).map((index) => `text ${index}`),
    );
  });
});

describe('choices that are all strange', () => {
  it('leave a whole answer without a completion', async () => {
    await expect(ask(strange, {}, true)).rejects.toMatchObject({ code: 'upstream_invalid_response', status: 502 });
  });

  it('leave a stream without one', async () => {
    await expect(ask(strange, {}, false)).rejects.toMatchObject({ code: 'upstream_invalid_response', status: 502 });
  });
});
