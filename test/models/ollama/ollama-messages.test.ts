import { describe, expect, it } from 'vitest';

import type { ChatMessage } from '../../../src/core/chat/chat.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { toOllamaMessages, toOllamaTools } from '../../../src/models/ollama/ollama-messages.ts';

const picture = 'data:image/png;charset=binary;base64,iVBORw0KGgo=';

describe('messages for Ollama', () => {
  it('carry calls with arguments as objects and results with the name of their function', () => {
    const messages: ChatMessage[] = [
      { role: 'developer', content: 'Be brief' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'One' },
          { type: 'text', text: 'two' },
        ],
      },
      {
        role: 'assistant',
        content: null,
        toolCalls: [
          { id: 'c1', name: 'add', arguments: '{"a":1}' },
          { id: 'c2', name: 'sub', arguments: '{"a":' },
        ],
        extra: { reasoning_content: 'hm' },
      },
      { role: 'tool', toolCallId: 'c1', content: '3' },
      { role: 'tool', toolCallId: 'c2', name: 'minus', content: [{ type: 'text', text: '{"error":"x"}' }] },
      { role: 'assistant', content: 'Three', toolCalls: [] },
    ];
    expect(toOllamaMessages(messages)).toEqual([
      { role: 'system', content: 'Be brief' },
      { role: 'user', content: 'One\ntwo' },
      {
        role: 'assistant',
        content: '',
        tool_calls: [
          { id: 'c1', function: { name: 'add', arguments: { a: 1 } } },
          { id: 'c2', function: { name: 'sub', arguments: {} } },
        ],
      },
      { role: 'tool', content: '3', tool_call_id: 'c1', tool_name: 'add' },
      { role: 'tool', content: '{"error":"x"}', tool_call_id: 'c2', tool_name: 'minus' },
      { role: 'assistant', content: 'Three' },
    ]);
  });

  it.each<[string, JsonObject]>([
    ['an object', { url: picture, detail: 'high' }],
    ['a string', picture as unknown as JsonObject],
  ])('carry images as base64, from %s', (_name, image) => {
    const content = [
      { type: 'text' as const, text: 'What is it?' },
      { type: 'image_url', image_url: image },
    ];
    expect(toOllamaMessages([{ role: 'user', content }])).toEqual([{ role: 'user', content: 'What is it?', images: ['iVBORw0KGgo='] }]);
  });

  it.each<[string, { type: string } & JsonObject, RegExp]>([
    ['an image by address', { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }, /data:image/u],
    ['an image without an address', { type: 'image_url' }, /image_url/u],
    ['an image that is no base64', { type: 'image_url', image_url: { url: 'data:image/svg+xml,<svg/>' } }, /base64/u],
    ['sound', { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }, /input_audio/u],
  ])('refuse %s and say what helps', (_name, part, message) => {
    const content = [{ type: 'text' as const, text: 'Look' }, part];
    const refused = { code: 'invalid_request', param: 'messages.0.content.1', message: expect.stringMatching(message) };
    expect(() => toOllamaMessages([{ role: 'user', content }])).toThrow(expect.objectContaining(refused));
  });
});

describe('functions for Ollama', () => {
  const spec = { name: 'add', description: 'Adds', parameters: { type: 'object', properties: {} } };
  const own = { type: 'function', function: { name: 'mine', description: 'x', strict: true } };
  const request = { tools: [spec], callerTools: [own, { type: 'web_search' }], toolChoice: undefined };

  it("are the gateway's, then the caller's own ones, without hosted tools", () => {
    expect(toOllamaTools(request)).toEqual([{ type: 'function', function: spec }, own]);
  });

  it('follow tool_choice as far as Ollama can', () => {
    expect(toOllamaTools({ ...request, toolChoice: 'none' })).toEqual([]);
    expect(toOllamaTools({ ...request, toolChoice: { type: 'function', function: { name: 'mine' } } })).toEqual([own]);
    expect(toOllamaTools({ ...request, toolChoice: 'required' })).toHaveLength(2);
  });
});
