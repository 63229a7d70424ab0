import { expect, it } from 'vitest';
import { openedCharacters, openReturned } from '../../../src/chat/thoughts/open-returned.ts';
import type { AssistantMessage, ChatMessage } from '../../../src/core/chat/chat.ts';
import type { ReturnedThought } from '../../../src/core/chat/thought.ts';
import { createThoughtSeals } from '../../../src/storage/secrets/seal-thoughts.ts';

const seals = createThoughtSeals('a secret of tests');
const opening = { callerId: 'ann', model: { id: 'm', owner: 'openai' }, fallbacks: ['o'], seals };
const turn: AssistantMessage = {
  role: 'assistant',
  content: null,
  toolCalls: ['a', 'b'].map((id) => ({ id, name: 'f', arguments: '{}' })),
};
const opened = (returned: ReturnedThought[], more = {}): ChatMessage | undefined =>
  openReturned([{ ...turn, returned }], { ...opening, ...more })[0];
const signed = { extra_content: { google: { thought_signature: 'c2ln' } } };

it('opens what was sealed for this caller and model, in order', () => {
  const returned = [
    { text: seals.seal('ann', { model: 'm', field: 'reasoning' }), shown: 'I ' },
    { text: seals.seal('ann', { model: 'm', field: 'reasoning', fields: { reasoning_details: [1] } }), shown: 'think.' },
    { text: seals.seal('ann', { model: 'm', fields: { reasoning_details: [2] }, call: signed }), callId: 'b' },
  ];
  expect(opened(returned)).toEqual({
    ...turn,
    toolCalls: [turn.toolCalls[0], { ...turn.toolCalls[1], extra: signed }],
    extra: { reasoning: 'I think.', reasoning_details: [1, 2] },
  });
});

const sealed = seals.seal('ann', { model: 'm', fields: { reasoning: 'I think.' } });

it.each([
  ['of another caller', [{ text: sealed }], { callerId: 'bob' }],
  ['of another model', [{ text: sealed }], { model: { id: 'n', owner: 'openai' } }],
  ['of another gateway', [{ text: createThoughtSeals('another').seal('ann', { model: 'm', fields: { reasoning: 'x' } }) }], {}],
  ['that was changed', [{ text: `${sealed.slice(0, -4)}AAAA` }], {}],
  ['that a client has made up', [{ text: 'toolwharf.v1:AAAA' }, { text: 'gAAAA' }, { text: '' }], {}],
  ['of Anthropic, for another model', [{ text: 'Eq', block: { type: 'redacted_thinking', data: 'Eq' } }], {}],
  [
    'of another caller, in a block',
    [{ text: sealed, block: { type: 'redacted_thinking' } }],
    { callerId: 'bob', model: { id: 'm', owner: 'anthropic' } },
  ],
])('leaves out a text %s', (_which, returned, more) => {
  expect(opened(returned, more)).toEqual(turn);
});

it('gives blocks that Anthropic has signed to its models', () => {
  const blocks = [
    { type: 'thinking', thinking: 'Hm.', signature: 'Eq' },
    { type: 'redacted_thinking', data: 'Er' },
  ];
  const returned = blocks.map((block) => ({ text: block.signature ?? 'Er', block }));
  expect(opened(returned, { model: { id: 'm', owner: 'anthropic' } })).toEqual({ ...turn, extra: { thinking_blocks: blocks } });
});

it('opens nothing for a turn without calls, and nothing older than the limit', () => {
  const answer: ChatMessage = { role: 'assistant', content: 'Done.', toolCalls: [], returned: [{ text: sealed }] };
  const huge = { ...turn, returned: [{ text: 'x'.repeat(openedCharacters) }] };
  const last = { ...turn, returned: [{ text: sealed }] };
  const extra = { reasoning: 'I think.' };
  expect(openReturned([{ ...turn, returned: [{ text: sealed }] }, huge, answer, last], opening)).toEqual([
    turn,
    turn,
    { role: 'assistant', content: 'Done.', toolCalls: [] },
    { ...turn, extra },
  ]);
});

it('keeps what a fallback has written for that one', () => {
  const returned = [{ text: seals.seal('ann', { model: 'o', fields: { reasoning: 'I think.' } }) }];
  expect(opened(returned)).toEqual({ ...turn, extra: { reasoning: 'I think.' }, writtenBy: 'o' });
});
