import { expect, it } from 'vitest';
import type { ModelEvent } from '../../src/core/chat/chat.ts';
import { recoverLeakedCalls } from '../../src/chat/modes/native/recover-leaked-calls.ts';
import { requestTurn } from '../../src/chat/turns/request-turn.ts';
import { createOpenAiBackend } from '../../src/models/openai/openai-compatible.ts';
import { answerWith, askModel } from '../_support/model-answers.ts';
import { toolNamed } from '../_support/tools.ts';

const connection = { baseUrl: 'http://lab.test/v1', key: undefined, firstByteTimeoutMs: 1_000, idleTimeoutMs: 1_000 };

function chunkOf(delta: object, finish_reason: string | null = null): string {
  return `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
}

it.each([[[]], [[toolNamed('now', 'noon').spec]]])(
  'a thousand chunks in one piece of bytes cross all layers in few batches, with %j on offer',
  async (tools) => {
    const words = Array.from({ length: 1_000 }, (_, index) => `w${index} `);
    const text = [...words.map((content) => chunkOf({ content })), chunkOf({}, 'stop'), 'data: [DONE]\n\n'].join('');
    const native = createOpenAiBackend(connection, answerWith([Buffer.from(text)]));
    const backend = recoverLeakedCalls({ backend: native, newCallId: () => 'c', caller: { id: 'ada' } });
    const batches: (readonly ModelEvent[])[] = [];
    const turn = await requestTurn(backend, askModel({ tools }), (events) => void batches.push(events as readonly ModelEvent[]));
    expect(turn.text).toBe(words.join(''));
    expect(batches.flat().length).toBeGreaterThanOrEqual(tools.length === 0 ? 1_000 : 1);
    expect(batches.length).toBeLessThan(12);
  },
);
