export interface DemoOptions {
  gatewayUrl: string;
  timeServerUrl: string;
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
}

const question = '請告訴現在東京的時間';

/**
 * Sends the chat request that Open WebUI sends with a tool server, three times: with prompt-based selection, with native tool calls, and with this
 * process running the call in place of a browser. Resolves to whether all three runs were complete.
 */
export async function runDemonstration(options: DemoOptions): Promise<boolean> {
  const openapi = (await (await fetch(`${options.timeServerUrl}/openapi.json`)).json()) as { info: object };
  const printer = createPrinter(options);
  printer.title(`toolwharf demo: gateway ${options.gatewayUrl}, time tool server ${options.timeServerUrl}`);
  printer.note('The model "demo" is a rule-based stand-in, no language model.');
  const body = (mode: string, more: object = {}) => ({
    stream: true,
    model: 'demo',
    messages: [{ role: 'user', content: question }],
    params: { function_calling: mode },
    tool_servers: [{ url: options.timeServerUrl, openapi, info: openapi.info }],
    stream_options: { include_events: true },
    ...more,
  });

  printer.title('1. Prompt-based: the model is asked to choose, the gateway runs the call');
  const prompted = await runChat(options, printer, body('default'));
  printer.title('2. Native: the functions go along as tools, the gateway runs the call');
  const native = await runChat(options, printer, body('native'));
  printer.title('3. Browser-relayed: the call goes over a websocket to the session that asked');
  const browser = await openBrowser(options, printer);
  const relayed = await runChat(options, printer, body('native', { session_id: browser.sessionId }));
  browser.close();

  const isComplete = (observed: Observed): boolean => observed.calls > 0 && observed.sources > 0 && observed.answer !== '';
  return [prompted, native, relayed].every(isComplete) && browser.requests() === 1;
}

type Printer = ReturnType<typeof createPrinter>;

function createPrinter({ print, useColor }: DemoOptions) {
  const paint = (code: number, text: string): string => (useColor ? `\u001B[${code}m${text}\u001B[0m` : text);
  return {
    title: (text: string): void => print(`\n${paint(1, text)}`),
    note: (text: string): void => print(paint(2, text)),
    line: (label: string, text: string): void => print(`  ${paint(36, label.padEnd(10))} ${text}`),
  };
}

async function runChat(options: DemoOptions, printer: Printer, body: { params: object; tool_servers: object[] }): Promise<Observed> {
  const url = `${options.gatewayUrl}/api/chat/completions`;
  printer.line(
    'request',
    `POST /api/chat/completions  model demo, params ${JSON.stringify(body.params)}, ${body.tool_servers.length} tool server`,
  );
  printer.line('user', question);
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  if (!response.ok || response.body === null) throw new Error(`The gateway answered ${response.status}: ${await response.text()}`);
  const observed: Observed = { calls: 0, sources: 0, answer: '' };
  for await (const chunk of readChunks(response.body)) printChunk(chunk, observed, printer);
  printer.line('answer', observed.answer);
  return observed;
}

function printChunk(chunk: Chunk, observed: Observed, printer: Printer): void {
  if (chunk.error !== undefined) throw new Error(chunk.error.message);
  observed.answer += chunk.choices[0]?.delta.content ?? '';
  for (const { source, document } of chunk.sources ?? []) {
    observed.sources++;
    printer.line('source', `${source.name}: ${document.join(' ').replaceAll(/\s+/g, ' ')}`);
  }
  const { type, data } = chunk.event ?? { type: '', data: {} };
  if (type === 'selection') printer.line('selection', `${String(data['model'])} chose ${JSON.stringify(data['found'])}`);
  if (type === 'tool.result')
    printer.line('result', `${JSON.stringify(data['response'] ?? data['error'])} after ${String(data['duration_ms'])} ms`);
  if (type !== 'tool.call') return;
  observed.calls++;
  printer.line('tool call', `${String(data['tool'])} ${JSON.stringify(data['args'])}`);
}

async function* readChunks(body: ReadableStream<Uint8Array>): AsyncGenerator<Chunk> {
  let rest = '';
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
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
  printer: Printer,
): Promise<{ sessionId: string; requests: () => number; close: () => void }> {
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
    printer.line('browser', `execute:tool, sends ${data.request.method} ${data.request.url}`);
    void sendPrepared(data.request).then((result) =>
      socket.send(JSON.stringify({ type: 'execute:tool:result', data: { id: data.id, ...result } })),
    );
  });
  const sessionId = await session.promise;
  printer.line('browser', 'connected to /ws, has a session');
  return { sessionId, requests: () => requests, close: () => socket.close() };
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
