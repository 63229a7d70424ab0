import type { TaskServer } from './task-server.ts';

interface DemoOptions {
  gatewayUrl: string;
  timeServerUrl: string;
  taskServer: TaskServer;
  print: (line: string) => void;
  useColor: boolean;
}

interface Chunk {
  choices: { delta: { content?: string } }[];
  sources?: { source: { name: string }; document: string[] }[];
  event?: { type: string; data: Record<string, unknown> };
  error?: { message: string };
}

/** What one run showed; the demonstration has failed if any of it is missing. */
interface Observed {
  calls: number;
  sources: number;
  answer: string;
  /** What the browser has sent, until it is printed. */
  relayed: string[];
}

const task = 'Call the hotel';
const question = `What time is it in Berlin? Add the task "${task}".`;
/** A question in another language than the functions, and what it means. */
const firstQuestion = '請告訴現在東京的時間';
const firstQuestionInEnglish = 'Please tell the time in Tokyo now';

/** Columns of a terminal that is as narrow as any. */
const columns = 80;
const labelColumns = 13;

/**
 * Asks one question without tools and with them, in each way of calling: native, with prompt-based selection, and with this process running the calls
 * in place of a browser. Then sends the chat request that Open WebUI sends with a tool server. Resolves to whether everything was there.
 */
export async function runDemonstration(options: DemoOptions): Promise<boolean> {
  const { gatewayUrl, timeServerUrl, taskServer } = options;
  const openapi = (await (await fetch(`${timeServerUrl}/openapi.json`)).json()) as { info: object };
  const time = { url: timeServerUrl, openapi, info: openapi.info };
  const servers = [time, { url: taskServer.url, openapi: taskServer.document }];
  const printer = createPrinter(options);
  const ask = (content: string, mode: string, { sent = [], ...more }: Varied): Promise<Observed> => {
    const body = {
      stream: true,
      model: 'demo',
      messages: [{ role: 'user', content }],
      params: { function_calling: mode },
      stream_options: { include_events: true },
      ...more,
    };
    return runChat(options, printer, { body, sent });
  };
  /** The question with both tool servers: one reads the clock, the other one changes the list of tasks. */
  const askWithTools = async (mode: string, more: Varied = {}): Promise<{ observed: Observed; isComplete: boolean }> => {
    taskServer.tasks.length = 0;
    const observed = await ask(question, mode, { tool_servers: servers, ...more });
    const isComplete = observed.calls === 2 && observed.sources === 2 && observed.answer !== '' && taskServer.tasks.join() === task;
    return { observed, isComplete };
  };

  printer.title('toolwharf: any chat model gets tools');
  printer.text(`The gateway runs at ${gatewayUrl}. Its model "demo" is a few rules and no language model: it chooses functions and quotes what they
    say. There are two tool servers: a clock, which only tells, and a list of tasks, which a function changes.`);
  printer.line('question', question);

  printer.title('1. Native calls: the functions go along, the gateway runs what is called');
  const without = await ask(question, 'native', { tool_ids: [] });
  const native = await askWithTools('native');
  printer.line('task list', `was empty before, and now has ${taskServer.tasks.map((text) => `"${text}"`).join(', ')}`);
  printer.sideBySide(['without tools', without.answer], ['with tools', native.observed.answer]);

  printer.title('2. Prompt-based, for models without such calls: a prompt selects them');
  const prompted = await askWithTools('default');
  printer.line('answer', prompted.observed.answer);

  printer.title("3. In the browser: the calls run in the user's own network");
  const browser = await openBrowser(options);
  const relayed = await askWithTools('native', { session_id: browser.sessionId, sent: browser.sent });
  printer.line('answer', relayed.observed.answer);
  browser.close();

  printer.title('4. The request that Open WebUI sends with the clock, prompt-based');
  printer.line('question', `${firstQuestion} (${firstQuestionInEnglish})`);
  const first = await ask(firstQuestion, 'default', { tool_servers: [time] });
  printer.line('answer', first.answer);

  const isFirstComplete = first.calls === 1 && first.sources === 1 && first.answer !== '';
  const isWithoutComplete = without.calls === 0 && without.answer !== '';
  const areComplete = [native, prompted, relayed].every(({ isComplete }) => isComplete);
  return isWithoutComplete && areComplete && browser.requests() === 2 && isFirstComplete;
}

/** What differs between the requests. `sent`: what the browser sends meanwhile. */
interface Varied {
  tool_servers?: object[];
  tool_ids?: string[];
  session_id?: string;
  sent?: string[];
}

interface ChatBody {
  params: { function_calling: string };
  tool_servers?: object[];
  [field: string]: unknown;
}

type Printer = ReturnType<typeof createPrinter>;

function createPrinter({ print, useColor }: DemoOptions) {
  const paint = (code: number, text: string): string => (useColor ? `\u001B[${code}m${text}\u001B[0m` : text);
  return {
    title: (text: string): void => print(`\n${paint(1, text)}`),
    text(text: string): void {
      for (const line of wrapped(text, columns)) print(line);
    },
    line(label: string, text: string): void {
      const [first = '', ...others] = wrapped(text, columns - labelColumns);
      print(`  ${paint(36, label.padEnd(labelColumns - 2))}${first}`);
      for (const line of others) print(' '.repeat(labelColumns) + line);
    },
    sideBySide(left: readonly [heading: string, text: string], right: readonly [heading: string, text: string]): void {
      const width = columns / 2 - 2;
      const [lefts, rights] = [wrapped(left[1], width - 2), wrapped(right[1], width)];
      print(`  ${paint(36, left[0].padEnd(width))}${paint(36, right[0])}`);
      for (let row = 0; row < Math.max(lefts.length, rights.length); row++)
        print(`  ${(lefts[row] ?? '').padEnd(width)}${rights[row] ?? ''}`.trimEnd());
    },
  };
}

/** Lines of at most so many columns; a longer word is cut. */
function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/)) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = '';
    }
    line = line === '' ? word : `${line} ${word}`;
    for (; line.length > width; line = line.slice(width)) lines.push(line.slice(0, width));
  }
  return [...lines, line];
}

async function runChat(options: DemoOptions, printer: Printer, { body, sent }: { body: ChatBody; sent: string[] }): Promise<Observed> {
  const url = `${options.gatewayUrl}/api/chat/completions`;
  const { tool_servers: servers = [] } = body;
  const tools = servers.length === 0 ? 'no tools' : `${servers.length} tool server${servers.length === 1 ? '' : 's'}`;
  printer.line('request', `POST /api/chat/completions, mode ${body.params.function_calling}, streamed, ${tools}`);
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  if (!response.ok || response.body === null) throw new Error(`The gateway answered ${response.status}: ${await response.text()}`);
  const observed: Observed = { calls: 0, sources: 0, answer: '', relayed: sent };
  for await (const chunk of readChunks(response.body)) printChunk(chunk, observed, printer);
  return observed;
}

/** JSON in one line; other text as it is. */
function compact(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}

function printChunk(chunk: Chunk, observed: Observed, printer: Printer): void {
  if (chunk.error !== undefined) throw new Error(chunk.error.message);
  observed.answer += chunk.choices[0]?.delta.content ?? '';
  for (const { document } of chunk.sources ?? []) {
    observed.sources++;
    printer.line(`source ${observed.sources}`, compact(document.join(' ')));
  }
  const { type, data } = chunk.event ?? { type: '', data: {} };
  // Only now, because the browser is asked over another connection, often before the call is reported here.
  if (type === 'tool.result') for (const line of observed.relayed.splice(0)) printer.line('browser', line);
  if (type === 'selection') printer.line('selected', (data['found'] as string[]).join(', '));
  if (type === 'tool.result' && data['error'] !== undefined) printer.line('error', JSON.stringify(data['error']));
  if (type !== 'tool.call') return;
  observed.calls++;
  printer.line('tool call', `${String(data['tool'])} ${JSON.stringify(data['args'])}`);
}

async function* readChunks(body: ReadableStream<Uint8Array>): AsyncGenerator<Chunk> {
  let rest = '';
  const decoder = new TextDecoder();
  for await (const piece of body) {
    const text = decoder.decode(piece, { stream: true });
    const frames = (rest + text).split('\n\n');
    rest = frames.pop() ?? '';
    for (const frame of frames) {
      if (frame.startsWith('data: ') && frame !== 'data: [DONE]') yield JSON.parse(frame.slice('data: '.length)) as Chunk;
    }
  }
}

/** Acts as a browser: connects to the gateway's websocket and sends the prepared requests of tool calls itself. */
async function openBrowser(
  options: DemoOptions,
): Promise<{ sessionId: string; sent: string[]; requests: () => number; close: () => void }> {
  const sent: string[] = [];
  const socket = new WebSocket(`${options.gatewayUrl.replace('http', 'ws')}/ws`, ['toolwharf.v1']);
  const session = Promise.withResolvers<string>();
  let requests = 0;
  socket.addEventListener('error', () => session.reject(new Error('The websocket could not be opened')));
  socket.addEventListener('message', (message) => {
    const { type, data } = JSON.parse(String(message.data)) as {
      type: string;
      data: { session_id: string; id: string; request: PreparedRequest };
    };
    if (type === 'session') session.resolve(data.session_id);
    if (type !== 'execute:tool') return;
    requests++;
    sent.push(`sends ${data.request.method} ${data.request.url} itself`);
    void sendPrepared(data.request).then((result) =>
      socket.send(JSON.stringify({ type: 'execute:tool:result', data: { id: data.id, ...result } })),
    );
  });
  const sessionId = await session.promise;
  return { sessionId, sent, requests: () => requests, close: () => socket.close() };
}

interface PreparedRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: string;
}

async function sendPrepared({ url, ...init }: PreparedRequest): Promise<{ result: unknown } | { error: string }> {
  try {
    return { result: await (await fetch(url, init)).json() };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}
