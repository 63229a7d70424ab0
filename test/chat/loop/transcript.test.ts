import { describe, expect, it } from 'vitest';
import { Transcript } from '../../../src/chat/loop/transcript.ts';
import type { AssistantMessage, ChatMessage, ToolMessage } from '../../../src/core/chat/chat.ts';

const question: ChatMessage = { role: 'user', content: 'Go' };
const calling = (...names: string[]): AssistantMessage => ({
  role: 'assistant',
  content: null,
  toolCalls: names.map((name) => ({ id: `id_${name}`, name, arguments: '{}' })),
});
const resultOf = (name: string): ToolMessage => ({ role: 'tool', toolCallId: `id_${name}`, content: '1' });

function transcriptOf(messages: ChatMessage[] = [question]): { transcript: Transcript; record: ChatMessage[] } {
  const record: ChatMessage[] = [];
  return { transcript: new Transcript({ messages, historyLength: messages.length, record }), record };
}

describe('a transcript', () => {
  it('adds rounds for the model and to the record', () => {
    const { transcript, record } = transcriptOf();
    const round = [calling('a'), resultOf('a')];
    transcript.addRound(round);
    expect(transcript.messages).toEqual([question, ...round]);
    expect(transcript.added).toEqual(round);
    expect(record).toEqual(round);
  });

  it('records only those calls of an interrupted round that have results', () => {
    const { transcript, record } = transcriptOf();
    transcript.recordInterrupted([calling('a', 'b'), resultOf('b')]);
    expect(record).toEqual([calling('b'), resultOf('b')]);
    expect(transcript.added).toEqual([]);
    transcript.recordInterrupted([calling('c')]);
    expect(record).toHaveLength(2);
  });

  it('records an answer unless it is empty', () => {
    const { transcript, record } = transcriptOf();
    transcript.recordAnswer('');
    transcript.recordAnswer('Done.');
    expect(record).toEqual([{ role: 'assistant', content: 'Done.', toolCalls: [] }]);
  });

  it('records the new ids of calls that are returned to the client', () => {
    const { transcript, record } = transcriptOf();
    const round = calling('a');
    transcript.addRound([round]);
    transcript.recordReturned(
      round.toolCalls,
      round.toolCalls.map((call) => ({ ...call, id: 'new' })),
    );
    expect(record).toMatchObject([{ toolCalls: [{ id: 'new', name: 'a' }] }]);
    expect(transcript.added).toEqual([round]);
  });

  it('adds, replaces and removes the system message without counting it as added', () => {
    const { transcript } = transcriptOf();
    transcript.addRound([calling('a')]);
    for (const content of ['First', 'Second']) {
      transcript.replaceSystem({ role: 'system', content });
      expect(transcript.messages).toEqual([{ role: 'system', content }, question, calling('a')]);
      expect(transcript).toMatchObject({ historyLength: 2, added: [calling('a')] });
    }
    transcript.replaceSystem(null);
    expect(transcript.messages).toEqual([question, calling('a')]);
    expect(transcript).toMatchObject({ historyLength: 1, added: [calling('a')] });
  });
});
