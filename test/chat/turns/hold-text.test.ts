import { expect, it } from 'vitest';
import { holdText, type HeldText } from '../../../src/chat/turns/hold-text.ts';

function hold(isStreamed: boolean): { seen: string[]; held: HeldText } {
  const seen: string[] = [];
  const held = holdText((events) => {
    seen.push(...events.map((event) => (event.type === 'text' ? event.text : event.type)));
    return undefined;
  }, isStreamed);
  return { seen, held };
}

it('passes the JSON of a stream on while it is written', async () => {
  const { seen, held } = hold(true);
  await held.emit([{ type: 'text', text: ' ' }]);
  await held.emit([{ type: 'reasoning', text: 'x' }]);
  expect(seen).toEqual(['reasoning']);
  await held.emit([{ type: 'text', text: '{"a"' }]);
  await held.emit([{ type: 'text', text: ':1}' }]);
  expect(seen).toEqual(['reasoning', ' ', '{"a"', ':1}']);
});

it.each([
  ['words of a stream', true, 'Let me look.'],
  ['whatever a whole answer begins with', false, '{"a":1}'],
])('holds %s until it is released', async (_, isStreamed, text) => {
  const { seen, held } = hold(isStreamed);
  await held.emit([
    { type: 'text', text },
    { type: 'usage', usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } },
  ]);
  expect(seen).toEqual(['usage']);
  await held.release();
  expect(seen).toEqual(['usage', text]);
});
