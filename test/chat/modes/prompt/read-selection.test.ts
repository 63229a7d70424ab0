import { expect, it } from 'vitest';
import { readSelection } from '../../../../src/chat/modes/prompt/read-selection.ts';
import { limits } from '../../../../src/core/limits.ts';
import { trustSchema } from '../../../../src/validation/trusted-schemas.ts';
import { begunJobs, watchWorkerJobs } from '../../../_support/worker-jobs.ts';

const parameters = trustSchema({ type: 'object', properties: { text: { type: 'string' } } });
const tools = [{ name: 'use', description: '', parameters }];
const run = { caller: { id: 'local' } };
const callOf = (text: string): string => JSON.stringify({ tool_calls: [{ name: 'use', parameters: { text } }] });

it('a short answer is read in place, a long one in a thread, with the same calls', async () => {
  const events = watchWorkerJobs();
  expect((await readSelection(callOf('short'), tools, { isCut: false, run })).entries).toMatchObject([{ args: { text: 'short' } }]);
  expect(begunJobs(events)).toBe(0);
  const text = 'long '.repeat(20_000);
  expect((await readSelection(callOf(text), tools, { isCut: false, run })).entries).toMatchObject([{ args: { text } }]);
  expect(begunJobs(events)).toBe(1);
});

it('a short answer with much to repair is read in a thread, with all of its calls', async () => {
  const events = watchWorkerJobs();
  // The arguments are damaged, and so is the call that holds them as a string.
  const texts = ['a', 'b'].map((letter) => letter.repeat(3_000));
  const answer = texts
    .map((text) => `<tool_call>{"name": "use", "arguments": ${JSON.stringify(`{"text": "${text}",}`)},}</tool_call>`)
    .join('\n');
  expect((await readSelection(answer, tools, { isCut: false, run })).entries).toMatchObject(texts.map((text) => ({ args: { text } })));
  expect(begunJobs(events)).toBe(1);
});

it('what a call is compared with goes to a thread where it is long, and what it quotes is still no call', async () => {
  const events = watchWorkerJobs();
  const quoted = '{"name": "use", "parameters": {"text": "x"}}';
  const earlierTexts = ['words '.repeat(50_000), `What does ${quoted} do?`];
  const read = await readSelection(`It says this: ${quoted}`, tools, { isCut: false, run, earlierTexts });
  expect(read).toMatchObject({ entries: [], dropped: [{ name: 'use' }] });
  expect(begunJobs(events)).toBe(1);
});

it('of thousands of calls only so many are kept as a round may have', async () => {
  const read = await readSelection('no_such_function(a=1)\n\n'.repeat(10_000), tools, { isCut: false, run });
  expect(read.dropped.length).toBeLessThanOrEqual(3 * limits.callsPerRound + 1);
});

it('a number becomes text as the model wrote it, also when it is fitted once more by the loop', async () => {
  for (const filling of ['', ' '.repeat(10_000)]) {
    const answer = `{"tool_calls": [{"name": "use", "parameters": {"text": 3.10}}]${filling}}`;
    const { entries } = await readSelection(answer, tools, { isCut: false, run });
    expect(entries).toMatchObject([{ args: { text: '3.10' } }]);
    expect(entries.map((entry) => entry.type === 'fits' && JSON.stringify(entry.given))).toEqual(['{"text":3.10}']);
  }
});
