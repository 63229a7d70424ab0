import { EventSourceParserStream } from 'eventsource-parser/stream';
import { parseJson } from '../parts/text/parse-json.ts';
import type { Frame } from './session-messages.ts';

type Data = Readonly<Record<string, unknown>>;

export interface HttpChatOptions {
  /** The fields of a `message` frame. */
  fields: Data;
  /** Sends a request with the caller's credential. */
  send: (path: string, body: object, signal: AbortSignal) => Promise<Response>;
  /** Asks the person about a call. Resolves to the data of a `confirmation:result` frame. */
  decide: (question: Data & { id: string }, signal: AbortSignal) => Promise<unknown>;
  signal: AbortSignal;
}

interface WaitingCall {
  id: string;
  tool: string;
  arguments: unknown;
  token: string;
}

interface Approval {
  run_id: string;
  calls: readonly WaitingCall[];
}

/** What the answers so far have in common with the end of a chat over the socket. */
interface End {
  finish_reason: unknown;
  sources: unknown[];
  usage?: unknown;
}

/**
 * A chat without a websocket, as the frames that a socket would bring. A call that needs approval ends the stream; after the decision the answer continues in
 * the response to it.
 * @throws Error with a `code`
 */
export async function* chatOverHttp({ fields, send, decide, signal }: HttpChatOptions): AsyncGenerator<Frame> {
  const end: End = { finish_reason: 'stop', sources: [] };
  let response: Response | undefined = await send('/v1/chat/completions', toBody(fields), signal);
  let isStarted = false;
  while (response !== undefined) {
    let approval: Approval | undefined;
    for await (const chunk of readChunks(response)) {
      if (!isStarted) yield startFrame(chunk);
      isStarted = true;
      if (chunk['approval'] !== undefined) approval = chunk['approval'] as Approval;
      note(end, chunk);
      yield* framesOf(chunk);
    }
    if (approval === undefined) break;
    const decided = await decideAll(approval, { send, decide, signal });
    yield* decided.frames;
    response = decided.response;
  }
  yield { type: 'assistant_end', data: { ...end } };
}

function toBody({ mode, tool_servers: _onlyOverSocket, ...fields }: Data): object {
  return {
    ...fields,
    ...(mode !== undefined && { params: { function_calling: mode } }),
    stream: true,
    stream_options: { include_usage: true, include_events: true },
  };
}

function startFrame({ id, model }: Data): Frame {
  return { type: 'assistant_start', data: { run_id: typeof id === 'string' ? id.replace(/^chatcmpl-/, '') : undefined, model } };
}

function deltaOf(chunk: Data): Data {
  const [choice] = (chunk['choices'] ?? []) as { delta?: Data }[];
  return choice?.delta ?? {};
}

function framesOf(chunk: Data): Frame[] {
  const { content, reasoning_content: reasoning } = deltaOf(chunk);
  const frames: Frame[] = [];
  if (typeof reasoning === 'string' && reasoning !== '') frames.push({ type: 'reasoning_chunk', data: { content: reasoning } });
  if (typeof content === 'string' && content !== '') frames.push({ type: 'assistant_chunk', data: { content } });
  if (chunk['event'] !== undefined) frames.push({ type: 'event', data: chunk['event'] as Data });
  for (const warning of (chunk['warnings'] ?? []) as Data[]) frames.push({ type: 'event', data: { type: 'warning', data: warning } });
  return frames;
}

function note(end: End, chunk: Data): void {
  const [choice] = (chunk['choices'] ?? []) as { finish_reason?: unknown }[];
  if (typeof choice?.finish_reason === 'string') end.finish_reason = choice.finish_reason;
  if (Array.isArray(chunk['sources'])) end.sources.push(...(chunk['sources'] as unknown[]));
  if (chunk['usage'] !== undefined && chunk['usage'] !== null) end.usage = chunk['usage'];
}

/** How the gateway begins the text for clients that cannot show an approval. */
const approvalText = 'Waiting for your approval: ';

/** The chunks of a stream, without the text that stands for the approval after it. @throws Error with a `code` if the stream fails or ends early */
async function* readChunks(response: Response): AsyncGenerator<Data> {
  if (!response.ok) throw await errorOf(response);
  if (response.body === null) throw ended();
  const events = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
  let held: Data | undefined;
  for await (const { data } of iterate(events)) {
    const chunk = data === '[DONE]' ? undefined : (parseJson(data) as Data);
    if (chunk?.['error'] !== undefined) throw toError(chunk['error']);
    if (held !== undefined && chunk?.['approval'] === undefined) yield held;
    held = undefined;
    if (chunk === undefined) return;
    const { content } = deltaOf(chunk);
    if (typeof content === 'string' && content.includes(approvalText)) held = chunk;
    else yield chunk;
  }
  throw ended();
}

/** Not every browser can iterate over a stream. */
async function* iterate<Value>(stream: ReadableStream<Value>): AsyncGenerator<Value> {
  const reader = stream.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** The response to the last decision has the rest of the answer, but not the decisions. */
async function decideAll(
  { run_id: run, calls }: Approval,
  { send, decide, signal }: Pick<HttpChatOptions, 'send' | 'decide' | 'signal'>,
): Promise<{ frames: Frame[]; response: Response | undefined }> {
  const frames: Frame[] = [];
  let response: Response | undefined;
  const decideOne = async ({ id, tool, arguments: params, token }: WaitingCall): Promise<void> => {
    const answer = await Promise.race([decide({ id: `${run}/${id}`, run_id: run, tool, params }, signal), rejectionOf(signal)]);
    const { params: changed, ...decision } = answer as Data;
    const body = { ...decision, ...(changed !== undefined && { arguments: changed }), token };
    const sent = await send(`/api/runs/${encodeURIComponent(run)}/approvals/${encodeURIComponent(id)}`, body, signal);
    if (!sent.ok) throw await errorOf(sent);
    frames.push(decisionFrame(id, answer as Data));
    if (sent.status === 200) response = sent;
  };
  await Promise.all(calls.map(decideOne));
  return { frames, response };
}

function rejectionOf(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }));
}

function decisionFrame(id: string, { decision, params }: Data): Frame {
  const data = { id, decision, ...(params !== undefined && { edited: true, args: params }) };
  return { type: 'event', data: { type: 'approval.response', data } };
}

async function errorOf(response: Response): Promise<Error> {
  const body: unknown = await response.json().catch(() => undefined);
  const { error } = (body ?? {}) as { error?: unknown };
  return error === undefined ? toError({ message: `The gateway answered ${response.status} ${response.statusText}.` }) : toError(error);
}

function ended(): Error {
  return toError({ code: 'client_disconnected', message: 'The connection was lost before the answer was complete.' });
}

function toError(given: unknown): Error {
  const { message, code } = given as { message?: unknown; code?: unknown };
  return Object.assign(new Error(typeof message === 'string' ? message : 'The answer failed.'), { code });
}
