import { describe, expect, it } from 'vitest';
import { parseMessagesBody } from '../../../src/http/dialects/messages/parse-messages-body.ts';
import { parseResponseRequest } from '../../../src/http/dialects/responses/parse-request.ts';
import type { ChatMessage } from '../../../src/core/chat/chat.ts';
import { returnedValues } from '../../../src/http/dialects/requests/returned-json.ts';

const tooMuch = `[${'[],'.repeat(returnedValues)}[]]`;
const tooDeep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
const half = `[${'[],'.repeat(returnedValues / 4)}[]]`;

/** Ways in which a client can return what it has made up itself, each in a round with a call. */
const dialects: [name: string, read: (values: readonly string[]) => ChatMessage[]][] = [
  [
    'responses',
    (values) =>
      parseResponseRequest(
        {
          model: 'm',
          input: values.flatMap((value, index) => [
            {
              type: 'reasoning',
              id: 'rs',
              encrypted_content: `tw1.${Buffer.from(`{"reasoning_details":${value}}`).toString('base64url')}`,
            },
            { type: 'function_call', call_id: `c${index}`, name: 'f', arguments: '{}' },
            { type: 'function_call_output', call_id: `c${index}`, output: 'x' },
          ]),
        },
        {},
      ).request.messages,
  ],
  [
    'messages',
    (values) =>
      parseMessagesBody(
        {
          model: 'm',
          max_tokens: 1,
          messages: values.flatMap((value, index) => {
            const data = Buffer.from(`toolwharf:1:{"model":"m","fields":{"reasoning_details":${value}}}`).toString('base64');
            return [
              {
                role: 'assistant',
                content: [
                  { type: 'redacted_thinking', data },
                  { type: 'tool_use', id: `c${index}`, name: 'f', input: {} },
                ],
              },
              { role: 'user', content: [{ type: 'tool_result', tool_use_id: `c${index}`, content: 'x' }] },
            ];
          }),
        },
        {},
      ).request.messages,
  ],
];

describe.each(dialects)('reasoning that a client of %s returns', (_name, read) => {
  const kept = (...values: string[]) => read(values).filter(({ role, extra }) => role === 'assistant' && extra !== undefined).length;

  it('is left out where it is too deep or too much, which would hold up everybody', () => {
    expect(kept('[]', tooDeep, tooMuch)).toBe(1);
  });

  it('has one limit for the whole request', () => {
    expect(kept(half)).toBe(1);
    expect(kept(half, half, half)).toBe(1);
  });
});
