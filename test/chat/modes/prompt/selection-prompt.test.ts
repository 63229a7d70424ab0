import { expect, it } from 'vitest';
import { inlineToolResults } from '../../../../src/chat/messages/inline-tool-results.ts';
import { defaultSelectionTemplate, selectionMessages } from '../../../../src/chat/modes/prompt/selection-prompt.ts';
import type { ChatMessage } from '../../../../src/core/chat/chat.ts';

const spec = { name: 'f', description: 'Says {{TOOLS}}', parameters: { type: 'object', properties: {}, required: [] } };

it('inserts all specs into the template in the flat form of Open WebUI', () => {
  const [system] = selectionMessages([{ role: 'user', content: 'Hi' }], [spec], { template: defaultSelectionTemplate }) ?? [];
  const text = String(system?.content);
  expect(text.startsWith(`Available Tools: [{"type":"function","name":"f","description":"Says {{TOOLS}}"`)).toBe(true);
  expect(text).toContain('Return only the JSON object, without any additional text or explanation.');
  expect(text).toContain('{"name": "toolName1", "parameters": {"key1": "value1"}}');
});

it('does not expand a placeholder in a description', () => {
  const [system] = selectionMessages([{ role: 'user', content: 'Hi' }], [spec], { template: 'Tools: {{TOOLS}} or {{OTHER}}' }) ?? [];
  expect(system?.content).toBe(`Tools: ${JSON.stringify([{ type: 'function', ...spec }])} or {{OTHER}}`);
});

it.each([
  ['Gives the weather.', 'Gives the weather.'],
  ['Gives the weather. Use it when somebody asks for rain.', 'Gives the weather.'],
  ['Gives the weather of a city\nor a country.\n\nArgs:\n  city: its name', 'Gives the weather of a city or a country.'],
  ['E.g. Rome has weather. It is told here.', 'E.g. Rome has weather.'],
  ['Pays. Then it sends a receipt. Never call it twice.', 'Pays. Then it sends a receipt.'],
  ['', ''],
  ['word '.repeat(100), `${'word '.repeat(40)}…`],
])('shows only names and summaries in a request for names: %j', (description, summary) => {
  const options = { template: '{{TOOLS}}', areNames: true };
  const [system] = selectionMessages([{ role: 'user', content: 'Hi' }], [{ ...spec, description }], options) ?? [];
  expect(system?.content).toBe(JSON.stringify([{ name: 'f', description: summary }]));
});

it('includes at most three earlier messages, oldest first, without system messages, and the query once', () => {
  const messages: ChatMessage[] = [
    { role: 'system', content: 'Secret rules' },
    { role: 'user', content: 'one' },
    { role: 'assistant', content: 'two', toolCalls: [] },
    { role: 'user', content: 'three' },
    { role: 'assistant', content: 'four', toolCalls: [] },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'and now?' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
      ],
    },
  ];
  const [, user] = selectionMessages(messages, [spec], { template: defaultSelectionTemplate }) ?? [];
  expect(user?.content).toBe('Query: History:\nASSISTANT: """two"""\nUSER: """three"""\nASSISTANT: """four"""\nQuery: and now?');
});

it('selects nothing without a user message', () => {
  expect(selectionMessages([{ role: 'system', content: 'Rules' }], [spec], { template: defaultSelectionTemplate })).toBeUndefined();
});

it('appends each result to the last user message after a blank line, under the name of its source', () => {
  const folded = inlineToolResults([
    { role: 'user', content: 'Hi' },
    {
      role: 'assistant',
      content: null,
      toolCalls: [
        { id: '1', name: 'f', arguments: '{}' },
        { id: '2', name: 'g', arguments: '{}' },
      ],
    },
    { role: 'tool', toolCallId: '1', content: '{\n  "a": 1\n}', name: 'f', label: 'time/f' },
    { role: 'tool', toolCallId: '2', content: 'plain' },
  ]);
  expect(folded).toEqual([{ role: 'user', content: 'Hi\n\nTool `time/f` Output: {\n  "a": 1\n}\n\nTool `g` Output: plain' }]);
});

it('keeps the position of images when it appends a result', () => {
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
  const folded = inlineToolResults([
    { role: 'user', content: [{ type: 'text', text: 'Hi' }, image] },
    { role: 'tool', toolCallId: '1', content: 'x', label: 'f' },
  ]);
  expect(folded).toEqual([{ role: 'user', content: [{ type: 'text', text: 'Hi\n\nTool `f` Output: x' }, image] }]);
});
