import type { ModelEvent } from '../../../src/core/chat/chat.ts';
import type { ModelBackend } from '../../../src/core/models/model.ts';
import { generatedBy } from '../../_support/scripted-model.ts';

const text = (words: string): ModelEvent => ({ type: 'text', text: words });
const end: ModelEvent = { type: 'finish', reason: 'stop' };

let callCount = 0;

function* call(name: string, args: object): Generator<ModelEvent> {
  yield { type: 'tool-call', call: { id: `call-${++callCount}`, name, arguments: JSON.stringify(args) } };
  yield { type: 'finish', reason: 'tool_calls' };
}

const rich = `There are **three trains** before noon; the second one is the fastest.

| Departs | Arrives | Changes | Price |
| ------- | ------- | ------: | ----: |
| 07:12   | 10:48   |       1 | 49 €  |
| 08:30   | 11:21   |       0 | 79 €  |
| 09:12   | 12:48   |       2 | 39 €  |

1. Book by tomorrow: the price \`79 €\` holds until then.
2. Seats can be chosen later, see [the rules](https://example.com/rules).

\`\`\`ts
const fastest = trains.toSorted((one, other) => one.minutes - other.minutes)[0];
\`\`\`

> Children below six travel for nothing.
`;

/** Answers by words of the question: with Markdown, an error, an answer that does not end, or a call of a function of the time server. */
export const madeUpModel: ModelBackend = generatedBy(async function* ({ messages, signal }): AsyncGenerator<ModelEvent> {
  const last = messages.at(-1);
  const asked = String(messages.findLast(({ role }) => role === 'user')?.content);
  if (asked.includes('fail')) throw new Error('made up');
  if (asked.includes('train')) {
    yield { type: 'reasoning', text: 'The person wants to be there by noon. Trains after 09:30 are too late.' };
    yield text(rich);
    yield end;
  } else if (last?.role === 'tool') {
    yield text('It is done.');
    yield end;
  } else if (asked.includes('wait')) {
    yield text('I look it up. ');
    await new Promise((_resolve, reject) => signal.addEventListener('abort', reject, { once: true }));
  } else if (asked.includes('wrong')) yield* call('format_current_time_format_time_post', { timezone: 'Europe/Atlantis' });
  else yield* call('convert_time_convert_time_post', { timestamp: '2026-11-24T09:00:00', from_tz: 'UTC', to_tz: 'Asia/Tokyo' });
});
