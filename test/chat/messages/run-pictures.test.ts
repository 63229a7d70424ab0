import { expect, it } from 'vitest';
import { allPicturesCharacters, pictureCharacters, RunPictures } from '../../../src/chat/messages/run-pictures.ts';
import type { ToolCallResult } from '../../../src/chat/tool-calls/tool-call-result.ts';
import type { ChatMessage } from '../../../src/core/chat/chat.ts';
import type { ToolFile } from '../../../src/core/tools/tool.ts';

const fileOf = (letter: string, characters: number, fields: Partial<ToolFile> = {}): ToolFile => {
  const head = 'data:image/png;base64,';
  return { type: 'image/png', url: head + letter.repeat(characters - head.length), sizeBytes: characters, ...fields };
};

function resultOf(id: string, files: ToolFile[]): ToolCallResult {
  const outcome = { type: 'result', value: 'text', files } as const;
  return { call: { id, name: 'shoot', arguments: '{}' }, isReady: true, outcome, text: 'text', durationMs: 0, attempts: 1 };
}

const toolMessage = (id: string, content = 'text'): ChatMessage => ({ role: 'tool', toolCallId: id, content });
const urlsIn = (messages: readonly ChatMessage[]): number =>
  messages.flatMap(({ content }) => (Array.isArray(content) ? content.filter(({ type }) => type === 'image_url') : [])).length;

it('leaves out a picture that is larger than one may be, and says so', () => {
  const pictures = new RunPictures();
  pictures.add([resultOf('a', [fileOf('A', pictureCharacters), fileOf('B', pictureCharacters + 1)])]);
  const shown = pictures.showIn([toolMessage('a')], 'in_result');
  expect(urlsIn(shown)).toBe(1);
  expect(shown[0]).toMatchObject({
    content: [{ text: 'text\n[picture 1, shown below]\n[picture left out: it is too large for a model]' }, {}],
  });
});

it('leaves out the oldest when all together are larger than they may be', () => {
  const pictures = new RunPictures();
  const size = pictureCharacters;
  const fitting = Math.floor(allPicturesCharacters / size);
  for (let index = 0; index <= fitting; index += 1) pictures.add([resultOf(`${index}`, [fileOf('A', size)])]);
  const messages = Array.from({ length: fitting + 1 }, (_, index) => toolMessage(`${index}`));
  const shown = pictures.showIn(messages, 'after_results');
  expect(urlsIn(shown)).toBe(fitting);
  expect(shown[0]?.content).toContain('picture left out');
});

it('takes the notes on files out of the result, each once', () => {
  const pictures = new RunPictures();
  const mention = '[file: image/png, 1 kB, not shown here]';
  pictures.add([resultOf('a', [fileOf('A', 100, { mention }), fileOf('B', 100, { mention })])]);
  const [message] = pictures.showIn([toolMessage('a', `one ${mention} two ${mention} three`)], 'in_result');
  expect(message?.content).toMatchObject([{ text: 'one [picture 1, shown below] two [picture 2, shown below] three' }, {}, {}]);
});

it('looks at the newest pictures of a result alone, and leaves the notes on the others', () => {
  const pictures = new RunPictures();
  const mention = '[file]';
  pictures.add([
    resultOf(
      'a',
      Array.from({ length: 900 }, () => fileOf('A', 100, { mention })),
    ),
  ]);
  const [message] = pictures.showIn([toolMessage('a', mention.repeat(900))], 'in_result');
  const numbered = Array.from({ length: 8 }, (_, index) => `[picture ${index + 1}, shown below]`).join('');
  expect(message?.content).toMatchObject([{ text: mention.repeat(892) + numbered }, ...Array.from({ length: 8 }, () => ({}))]);
});

it('shows nothing of another conversation, and names the usual type of a JPEG', () => {
  const pictures = new RunPictures();
  pictures.add([resultOf('a', [{ type: 'image/jpg', url: 'data:image/jpg;base64,AAAA', sizeBytes: 3 }])]);
  const other = [toolMessage('b'), { role: 'user', content: 'Hi' } as const];
  expect(pictures.showIn(other, 'after_results')).toEqual(other);
  expect(JSON.stringify(pictures.showIn([toolMessage('a')], 'in_result'))).toContain('data:image/jpeg;base64,AAAA');
});
