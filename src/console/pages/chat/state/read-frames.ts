import type { Frame } from '../../../api/session-messages.ts';
import type { Answer, CallPart, Source } from './chat.ts';
import { parseJson } from '../../../parts/text/parse-json.ts';

/** A longer text result is cut before it is saved with the chat. */
const maxResultCharacters = 200_000;
/** Parts of one answer. Further calls are not shown. */
const maxParts = 500;

type Data = Readonly<Record<string, unknown>>;

/** Messages for codes whose own message names fields of the API. Undefined: not shown, because everything in the request was used. */
const ownMessages = new Map<unknown, string | undefined>([
  ['function_renamed', undefined],
  ['functions_left_out', 'There are more functions than a model is offered at once. To choose them yourself, open Tools below.'],
  ['unknown_tool_id', 'A tool that this chat uses no longer exists. To choose others, open Tools below.'],
]);

/** A registered tool server was left out. */
const codesOfServers: ReadonlySet<unknown> = new Set([
  'tool_server_unreachable',
  'mcp_unavailable',
  'tool_server_unsupported',
  'tool_server_disabled',
]);

function messageOf({ code, message }: { code?: unknown; message?: unknown }): string | undefined {
  if (ownMessages.has(code)) return ownMessages.get(code);
  return typeof message === 'string' && message !== '' ? message : undefined;
}

/** Applies a frame to the answer. `now`: milliseconds since 1970. */
export function addFrame(answer: Answer, { type, data }: Frame, now: number): void {
  if (type === 'assistant_start') {
    answer.runId = textIn(data, 'run_id');
    answer.model = textIn(data, 'model') ?? answer.model;
  } else if (type === 'assistant_chunk') addText(answer, textIn(data, 'content') ?? '', now);
  else if (type === 'reasoning_chunk') addReasoning(answer, textIn(data, 'content') ?? '', now);
  else if (type === 'event') addEvent(answer, { type: textIn(data, 'type') ?? '', data: objectIn(data, 'data') }, now);
  else if (type === 'assistant_end') end(answer, data, now);
}

/** Adds calls and their results from the log of the run, because their frames may have been lost with a connection. */
export function addMissed(answer: Answer, events: readonly Frame[], now: number): void {
  for (const { type, data } of events) {
    const call = findCall(answer, data['id']);
    if (call === undefined ? type === 'tool.call' : isOpen(call)) addEvent(answer, { type, data }, now);
  }
}

/** Ends the answer with an error. */
export function failAnswer(answer: Answer, error: { code: string; message: string }, now: number): void {
  answer.state = 'failed';
  answer.error = { ...error, message: messageOf(error) ?? '' };
  close(answer, now);
}

/** Ends an answer that was cancelled before it began. */
export function cancelAnswer(answer: Answer, now: number): void {
  answer.state = 'cancelled';
  close(answer, now);
}

function addText(answer: Answer, text: string, now: number): void {
  const last = answer.parts.at(-1);
  if (last?.kind === 'text') last.text += text;
  else {
    endReasoning(answer, now);
    answer.parts.push({ kind: 'text', text });
  }
}

function addReasoning(answer: Answer, text: string, now: number): void {
  const last = answer.parts.at(-1);
  if (last?.kind === 'reasoning') last.text += text;
  else answer.parts.push({ kind: 'reasoning', text, started: now });
}

function endReasoning({ parts }: Answer, now: number): void {
  const last = parts.at(-1);
  if (last?.kind === 'reasoning') last.finished ??= now;
}

function addEvent(answer: Answer, { type, data }: Frame, now: number): void {
  if (type === 'tool.call') addCall(answer, data, now);
  else if (type === 'warning') addWarnings(answer, [data]);
  else {
    const call = findCall(answer, data['id']);
    if (call !== undefined) changeCall(call, type, data);
  }
}

function addWarnings(answer: Answer, warnings: readonly Data[]): void {
  for (const warning of warnings) {
    const message = messageOf(warning);
    const list = codesOfServers.has(warning['code']) ? (answer.unavailable ??= []) : answer.warnings;
    if (message !== undefined && !list.includes(message)) list.push(message);
  }
}

function findCall({ parts }: Answer, id: unknown): CallPart | undefined {
  return parts.find((part): part is CallPart => part.kind === 'call' && part.id === id);
}

function isOpen({ state }: CallPart): boolean {
  return state === 'running' || state === 'waiting';
}

function addCall(answer: Answer, data: Data, now: number): void {
  const id = textIn(data, 'id') ?? '';
  const known = findCall(answer, id);
  endReasoning(answer, now);
  if (known !== undefined) known.args = data['args'];
  else if (answer.parts.length < maxParts) {
    const within = textIn(data, 'within');
    answer.parts.push({
      kind: 'call',
      id,
      tool: textIn(data, 'tool') ?? '',
      server: textIn(data, 'server'),
      args: data['args'],
      state: 'running',
      ...(within !== undefined && { within }),
    });
  }
}

function changeCall(call: CallPart, type: string, data: Data): void {
  if (type === 'tool.progress') {
    const { status, progress, total } = data;
    if (typeof status === 'string') call.progress = status;
    if (typeof progress === 'number' && typeof total === 'number' && total > 0) call.share = Math.min(1, progress / total);
  } else if (type === 'approval.request' || type === 'connect.request') call.state = 'waiting';
  else if (type === 'approval.response' || type === 'connect.response') {
    call.state = 'running';
    const decision = data['edited'] === true ? 'changed' : textIn(data, 'decision');
    if (decision !== undefined) call.decision = decision;
    if (data['args'] !== undefined) {
      call.modelArgs ??= call.args;
      call.args = data['args'];
    }
  } else if (type === 'tool.result') endCall(call, data);
}

function endCall(call: CallPart, data: Data): void {
  const error = data['error'] as { code?: string; message?: string } | undefined;
  call.state = error === undefined ? 'done' : 'failed';
  if (error !== undefined) call.error = { code: error.code ?? '', message: error.message ?? '' };
  if (data['response'] !== undefined) call.response = toShownResult(data['response']);
  if (typeof data['duration_ms'] === 'number') call.durationMs = data['duration_ms'];
  if (data['truncated'] !== undefined) call.isTruncated = true;
  if (Array.isArray(data['files'])) call.files = data['files'] as NonNullable<CallPart['files']>;
  delete call.progress;
  delete call.share;
}

/** Parses a text that contains JSON. */
function toShownResult(response: unknown): unknown {
  if (typeof response !== 'string') return response;
  if (response.length > maxResultCharacters) return response.slice(0, maxResultCharacters);
  if (!/^\s*[[{]/.test(response)) return response;
  try {
    return parseJson(response);
  } catch {
    return response;
  }
}

function end(answer: Answer, data: Data, now: number): void {
  fillGap(answer, textIn(data, 'content'), now);
  answer.state = data['finish_reason'] === 'cancelled' ? 'cancelled' : 'done';
  if (Array.isArray(data['sources'])) answer.sources = data['sources'] as Source[];
  if (typeof data['usage'] === 'object' && data['usage'] !== null) answer.usage = data['usage'];
  if (Array.isArray(data['warnings'])) addWarnings(answer, data['warnings'] as Data[]);
  close(answer, now);
}

/** Chunks may have been lost with a connection. The end has the whole text. */
function fillGap(answer: Answer, content: string | undefined, now: number): void {
  const shown = answer.parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('');
  if (content === undefined || content === shown) return;
  if (content.startsWith(shown)) addText(answer, content.slice(shown.length), now);
  else {
    answer.parts = answer.parts.filter(({ kind }) => kind !== 'text');
    addText(answer, content, now);
  }
}

function close(answer: Answer, now: number): void {
  endReasoning(answer, now);
  answer.finished = now;
  for (const part of answer.parts)
    if (part.kind === 'call' && isOpen(part)) {
      part.state = 'failed';
      part.error ??= { code: 'tool_cancelled', message: 'The answer ended before this call did.' };
    }
}

function textIn(data: Data, name: string): string | undefined {
  const value = data[name];
  return typeof value === 'string' ? value : undefined;
}

function objectIn(data: Data, name: string): Data {
  const value = data[name];
  return typeof value === 'object' && value !== null ? (value as Data) : {};
}
