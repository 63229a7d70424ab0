/** How a load generator asks in one wire format, and reads the text of an answer. */
export interface ChatWire {
  name: string;
  path: string;
  body(question: string, stream: boolean, more: object): object;
  text(body: string, stream: boolean): string;
  /** Whether the same question has an answer of the same length each time; not where the answer says how long it took. */
  hasFixedLength: boolean;
}

interface Completion {
  choices: { message?: { content: string }; delta?: { content?: string } }[];
}

export const chatCompletionsWire: ChatWire = {
  name: 'chat completions',
  path: '/v1/chat/completions',
  body: (question, stream, more) => ({ model: 'mock', stream, ...more, messages: [{ role: 'user', content: question }] }),
  text(body, stream) {
    if (!stream) return (JSON.parse(body) as Completion).choices[0]?.message?.content ?? '';
    return dataIn(body, 'data: [DONE]')
      .map((data) => (data as Completion).choices[0]?.delta?.content ?? '')
      .join('');
  },
  hasFixedLength: true,
};

interface ResponseBody {
  output: { content?: { text: string }[] }[];
}

const responsesWire: ChatWire = {
  name: 'responses',
  path: '/v1/responses',
  body: (question, stream, more) => ({ model: 'mock', stream, ...more, input: [{ role: 'user', content: question }] }),
  text(body, stream) {
    const deltas = stream ? dataIn(body).map((data) => data as { type: string; delta?: string; response?: ResponseBody }) : [];
    const whole = stream ? deltas.at(-1)?.response : (JSON.parse(body) as ResponseBody);
    if (stream && deltas.at(-1)?.type !== 'response.completed') throw new Error(`a stream without its end: ${body.slice(-500)}`);
    if (!stream) return whole?.output[0]?.content?.[0]?.text ?? '';
    return deltas.map(({ type, delta }) => (type === 'response.output_text.delta' ? delta : '')).join('');
  },
  hasFixedLength: true,
};

interface MessageEvent {
  type: string;
  delta?: { text?: string };
}

const messagesWire: ChatWire = {
  name: 'messages',
  path: '/v1/messages',
  body: (question, stream, more) => ({
    model: 'mock',
    stream,
    max_tokens: 4_096,
    ...more,
    messages: [{ role: 'user', content: question }],
  }),
  text(body, stream) {
    if (!stream) return (JSON.parse(body) as { content: { text?: string }[] }).content[0]?.text ?? '';
    const events = dataIn(body).map((data) => data as MessageEvent);
    if (events.at(-1)?.type !== 'message_stop') throw new Error(`a stream without its end: ${body.slice(-500)}`);
    return events.map(({ type, delta }) => (type === 'content_block_delta' ? (delta?.text ?? '') : '')).join('');
  },
  hasFixedLength: true,
};

interface OllamaLine {
  message?: { content: string };
  done: boolean;
}

const ollamaWire: ChatWire = {
  name: 'ollama',
  path: '/api/chat',
  body: (question, stream, more) => ({ model: 'mock', stream, ...more, messages: [{ role: 'user', content: question }] }),
  text(body) {
    const lines = body
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as OllamaLine);
    if (lines.at(-1)?.done !== true) throw new Error(`an answer without its end: ${body.slice(-500)}`);
    return lines.map(({ message }) => message?.content ?? '').join('');
  },
  hasFixedLength: false,
};

/** The dialects that are compared with chat completions, which come first. */
export const chatWires: readonly ChatWire[] = [chatCompletionsWire, responsesWire, messagesWire, ollamaWire];

/** The JSON of every `data:` line of an event stream, which has to end with this line. */
function dataIn(body: string, last?: string): unknown[] {
  const lines = body.split('\n').filter((line) => line.startsWith('data: '));
  if (last !== undefined && lines.pop() !== last) throw new Error(`a stream without its end: ${body.slice(-500)}`);
  return lines.map((line) => JSON.parse(line.slice('data: '.length)) as unknown);
}
