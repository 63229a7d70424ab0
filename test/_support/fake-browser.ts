import { WebSocket } from 'ws';
import type { JsonObject, JsonValue } from '../../src/shared/json/json.ts';
import { isJsonObject } from '../../src/shared/json/json.ts';

export interface BrowserFrame extends JsonObject {
  type: string;
  data: JsonObject;
}

export interface FakeBrowserOptions {
  /** `http://host:port` or `ws://host:port`; `/ws` is added when there is no path. */
  url: string;
  /** Sent in the subprotocol `bearer.<token>`. */
  token?: string;
  /** Sent as the first frame. */
  auth?: { token?: string; session_id?: string };
  protocols?: string[];
  headers?: Record<string, string>;
  origin?: string;
  /** The address that it connects from. */
  localAddress?: string;
  /** Answers `execute:tool`: what it returns is the result, what it throws the error. Without it calls stay unanswered. */
  onExecuteTool?: (call: JsonObject) => JsonValue | undefined | Promise<JsonValue | undefined>;
  /** False: does not wait for the frame `session`. */
  waitsForSession?: boolean;
}

/** A browser's socket for tests: waits for frames, answers tool calls, and leaves politely or not. */
export interface FakeBrowser {
  readonly socket: WebSocket;
  /** Of the last `session` frame. */
  sessionId(): string;
  /** Everything that came, in order. */
  readonly frames: BrowserFrame[];
  framesOf(type: string): BrowserFrame[];
  send(frame: JsonObject): void;
  /** The next frame of a type that no `next` has returned yet. */
  next(type: string, accepts?: (frame: BrowserFrame) => boolean): Promise<BrowserFrame>;
  answer(id: JsonValue | undefined, answer: { result?: JsonValue; error?: JsonValue }): void;
  readonly closed: Promise<{ code: number; reason: string }>;
  close(): Promise<void>;
  terminate(): void;
}

const waitMs = 5_000;

/** @throws with the HTTP status when the upgrade is refused. */
export async function connectFakeBrowser(options: FakeBrowserOptions): Promise<FakeBrowser> {
  const browser = openFakeBrowser(options);
  await new Promise<void>((resolve, reject) => {
    browser.socket.once('open', () => resolve());
    browser.socket.once('error', reject);
    browser.socket.once('unexpected-response', (request, response) => {
      request.destroy();
      reject(new Error(`HTTP ${response.statusCode}`));
    });
  });
  if (options.auth !== undefined) browser.send({ type: 'auth', data: { ...options.auth } });
  if (options.waitsForSession !== false) await browser.next('session');
  return browser;
}

function openFakeBrowser(options: FakeBrowserOptions): FakeBrowser {
  const protocols = options.protocols ?? (options.token === undefined ? ['toolwharf.v1'] : ['toolwharf.v1', `bearer.${options.token}`]);
  const socket = new WebSocket(socketUrl(options.url), protocols, {
    headers: options.headers ?? {},
    ...(options.localAddress !== undefined && { localAddress: options.localAddress }),
    ...(options.origin === undefined ? {} : { origin: options.origin }),
  });
  const frames: BrowserFrame[] = [];
  const returned = new Set<BrowserFrame>();
  const waiting = new Set<() => void>();
  const { promise: closed, resolve: onClosed } = Promise.withResolvers<{ code: number; reason: string }>();

  socket.on('error', () => undefined);
  socket.on('close', (code, reason) => onClosed({ code, reason: reason.toString() }));
  socket.on('message', (data: Buffer) => {
    const frame = JSON.parse(data.toString()) as BrowserFrame;
    frames.push(frame);
    for (const look of waiting) look();
    if (frame.type === 'execute:tool' && options.onExecuteTool !== undefined) void execute(frame.data, options.onExecuteTool);
  });

  const send = (frame: JsonObject): void => socket.send(JSON.stringify(frame));
  const answer: FakeBrowser['answer'] = (id, fields) => send({ type: 'execute:tool:result', data: { id, ...fields } });

  async function execute(call: JsonObject, run: NonNullable<FakeBrowserOptions['onExecuteTool']>): Promise<void> {
    try {
      answer(call['id'], { result: (await run(call)) ?? null });
    } catch (error) {
      answer(call['id'], { error: error instanceof Error ? error.message : String(error) });
    }
  }

  return {
    socket,
    frames,
    closed,
    send,
    answer,
    framesOf: (type) => frames.filter((frame) => frame.type === type),
    sessionId() {
      const data = frames.findLast((frame) => frame.type === 'session')?.data;
      if (!isJsonObject(data) || typeof data['session_id'] !== 'string') throw new Error('There is no session.');
      return data['session_id'];
    },
    async next(type, accepts = () => true) {
      const { promise, resolve, reject } = Promise.withResolvers<BrowserFrame>();
      const look = (): void => {
        const frame = frames.find((candidate) => candidate.type === type && !returned.has(candidate) && accepts(candidate));
        if (frame !== undefined) resolve(frame);
      };
      const seen = (): string => frames.map((frame) => frame.type).join(', ');
      const timer = setTimeout(() => reject(new Error(`No frame ${type} came; there were: ${seen()}`)), waitMs);
      void closed.then(({ code, reason }) => reject(new Error(`Closed with ${code} ${reason} before ${type} came; there were: ${seen()}`)));
      waiting.add(look);
      look();
      try {
        const frame = await promise;
        returned.add(frame);
        return frame;
      } finally {
        clearTimeout(timer);
        waiting.delete(look);
      }
    },
    async close() {
      socket.close();
      await closed;
    },
    terminate: () => socket.terminate(),
  };
}

function socketUrl(url: string): string {
  const target = new URL(url);
  target.protocol = target.protocol.replace('http', 'ws');
  if (target.pathname === '/') target.pathname = '/ws';
  return target.href;
}
