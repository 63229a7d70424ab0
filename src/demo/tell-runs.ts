/** Where the demonstration finds its two servers, and where it tells what it sees. */
export interface DemoPlaces {
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

/** What one run showed; the demonstration has failed when a part of it is missing. */
interface Seen {
  calls: number;
  sources: number;
  answer: string;
}

const question = '請告訴現在東京的時間';

/**
 * The chat request that Open WebUI sends with a tool server, three times: chosen by a prompt, over native calls, and with the call
 * run by this terminal in the place of a browser. Resolves with whether all three did what they should.
 */
export async function tellRuns(places: DemoPlaces): Promise<boolean> {
  const openapi = (await (await fetch(`${places.timeServerUrl}/openapi.json`)).json()) as { info: object };
  const tell = createTeller(places);
  tell.title(`toolwharf demo: gateway ${places.gatewayUrl}, time tool server ${places.timeServerUrl}`);
  tell.note('The model "demo" is a rule-based stand-in, no language model.');
  const body = (mode: string, more: object = {}) => ({
    stream: true,
    model: 'demo',
    messages: [{ role: 'user', content: question }],
    params: { function_calling: mode },
    tool_servers: [{ url: places.timeServerUrl, openapi, info: openapi.info }],
    stream_options: { include_events: true },
    ...more,
  });

  tell.title('1. Prompt-based: the model is asked to choose, the gateway runs the call');
  const prompted = await ask(places, tell, body('default'));
  tell.title('2. Native: the functions go along as tools, the gateway runs the call');
  const native = await ask(places, tell, body('native'));
  tell.title('3. Browser-relayed: the call goes over a websocket to the session that asked');
  const browser = await openBrowser(places, tell);
  const relayed = await ask(places, tell, body('native', { session_id: browser.sessionId }));
  browser.close();

  const isComplete = (seen: Seen): boolean => seen.calls > 0 && seen.sources > 0 && seen.answer !== '';
  return [prompted, native, relayed].every(isComplete) && browser.requests() === 1;
}

type Teller = ReturnType<typeof createTeller>;

function createTeller({ print, useColor }: DemoPlaces) {
  const paint = (code: number, text: string): string => (useColor ? `\u001B[${code}m${text}\u001B[0m` : text);
  return {
    title: (text: string): void => print(`\n${paint(1, text)}`),
    note: (text: string): void => print(paint(2, text)),
    line: (label: string, text: string): void => print(`  ${paint(36, label.padEnd(10))} ${text}`),
  };
}

async function ask(places: DemoPlaces, tell: Teller, body: { params: object; tool_servers: object[] }): Promise<Seen> {
  const url = `${places.gatewayUrl}/api/chat/completions`;
  tell.line(
    'request',
    `POST /api/chat/completions  model demo, params ${JSON.stringify(body.params)}, ${body.tool_servers.length} tool server`,
  );
  tell.line('user', question);
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  if (!response.ok || response.body === null) throw new Error(`The gateway answered ${response.status}: ${await response.text()}`);
  const seen: Seen = { calls: 0, sources: 0, answer: '' };
  for await (const chunk of readChunks(response.body)) tellChunk(chunk, seen, tell);
  tell.line('answer', seen.answer);
  return seen;
}

function tellChunk(chunk: Chunk, seen: Seen, tell: Teller): void {
  if (chunk.error !== undefined) throw new Error(chunk.error.message);
  seen.answer += chunk.choices[0]?.delta.content ?? '';
  for (const { source, document } of chunk.sources ?? []) {
    seen.sources++;
    tell.line('source', `${source.name}: ${document.join(' ').replaceAll(/\s+/g, ' ')}`);
  }
  const { type, data } = chunk.event ?? { type: '', data: {} };
  if (type === 'selection') tell.line('selection', `${String(data['model'])} chose ${JSON.stringify(data['found'])}`);
  if (type === 'tool.result')
    tell.line('result', `${JSON.stringify(data['response'] ?? data['error'])} after ${String(data['duration_ms'])} ms`);
  if (type !== 'tool.call') return;
  seen.calls++;
  tell.line('tool call', `${String(data['tool'])} ${JSON.stringify(data['args'])}`);
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

/** This terminal in the place of a browser: it connects to the gateway's socket and sends the prepared requests itself. */
async function openBrowser(places: DemoPlaces, tell: Teller): Promise<{ sessionId: string; requests: () => number; close: () => void }> {
  const socket = new WebSocket(`${places.gatewayUrl.replace('http', 'ws')}/ws`, ['toolwharf.v1']);
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
    tell.line('browser', `execute:tool, sends ${data.request.method} ${data.request.url}`);
    void sendPrepared(data.request).then((result) =>
      socket.send(JSON.stringify({ type: 'execute:tool:result', data: { id: data.id, ...result } })),
    );
  });
  const sessionId = await session.promise;
  tell.line('browser', 'connected to /ws, has a session');
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
