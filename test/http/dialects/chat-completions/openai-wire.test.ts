import { expect, it } from 'vitest';
import { chatCompletionFormat } from '../../../../src/http/dialects/chat-completions/openai-wire.ts';

it('a completion has the fields that a backend adds to it, a hundred thousand of them in one pass', () => {
  const collector = chatCompletionFormat({}, {}).collect({ runId: 'r', created: 0, now: () => 0, model: 'm' });
  for (let index = 0; index < 100_000; index += 1)
    collector.add({ type: 'extra', level: 'response', fields: { [`field_${index}`]: index, newest: index } });
  expect(collector.body()).toMatchObject({ field_0: 0, field_99999: 99_999, newest: 99_999 });
});
