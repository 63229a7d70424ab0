import type { PendingConnect } from '../../../../src/core/user-input/connect.ts';
import type { JsonObject } from '../../../../src/shared/json/json.ts';

/** A chat in nobody's wire format. */
export interface Chat {
  model?: string;
  system?: string;
  turns: Turn[];
  /** The caller's own functions. */
  functions?: { name: string; description: string; parameters: JsonObject }[];
  choice?: 'auto' | 'required' | 'none' | { function: string };
  /** Asks for the model's reasoning. */
  thinks?: boolean;
  /** The schema of the answer. */
  schema?: JsonObject;
  maxTokens?: number;
  temperature?: number;
  /** The gateway's own fields. */
  fields?: JsonObject;
}

export type Turn =
  | { role: 'user'; text: string; image?: string }
  | { role: 'assistant'; text?: string; calls?: Call[] }
  | { role: 'result'; of: Call; text: string };

export interface Waiting {
  tool: string;
  args: JsonObject;
  /** What decides: for most dialects the run, the call and its token. */
  proof: JsonObject;
}

export interface Call {
  id: string;
  name: string;
  args: JsonObject;
}

/** An answer in nobody's wire format. */
export interface Answer {
  status: number;
  text: string;
  reasoning: string;
  /** Calls of the caller's functions. */
  calls: Call[];
  /** Undefined: the answer has no proper end. */
  finish: 'stop' | 'length' | 'calls' | undefined;
  /** The message of an error, before or within the answer. */
  error: string | undefined;
  /** Calls that wait for an approval. */
  waiting: Waiting[];
  /** What the caller has to connect to first. */
  connect: Partial<PendingConnect>;
  /** Names of its sources. */
  sources: string[];
  /** Codes of its warnings. */
  warnings: string[];
  tokens: { in: number; out: number } | undefined;
}

/** How a client of one dialect writes a chat, and reads its answer. */
export interface DialectClient {
  readonly name: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
  write(chat: Chat, stream: boolean): JsonObject;
  read(body: JsonObject): Omit<Answer, 'status'>;
  readStream(text: string): Omit<Answer, 'status'>;
  readError(body: JsonObject): string;
  /** The request that decides on what waits, in a later request of the chat. */
  decide(chat: Chat, waiting: readonly Waiting[], approve: boolean): { path: string; body: JsonObject };
}

export const nothing: Omit<Answer, 'status'> = {
  text: '',
  reasoning: '',
  calls: [],
  finish: undefined,
  error: undefined,
  waiting: [],
  connect: {},
  sources: [],
  warnings: [],
  tokens: undefined,
};

export function objectsIn(value: unknown): JsonObject[] {
  return Array.isArray(value) ? (value as JsonObject[]) : [];
}

export function textIn(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The gateway's additions to an answer, which have the same names in every dialect. */
export function additionsIn(...bodies: JsonObject[]): Pick<Answer, 'waiting' | 'connect' | 'sources' | 'warnings'> {
  return {
    waiting: bodies.flatMap((body) => waitingIn((body['approval'] ?? {}) as JsonObject)),
    connect: Object.assign({}, ...bodies.map((body) => body['connect'])) as Partial<PendingConnect>,
    sources: bodies.flatMap((body) => objectsIn(body['sources'])).map((source) => textIn((source['source'] as JsonObject)['name'])),
    warnings: bodies.flatMap((body) => objectsIn(body['warnings'])).map((warning) => textIn(warning['code'])),
  };
}

/** The data of every event of an event stream, in order. */
export function dataOf(stream: string): JsonObject[] {
  return stream
    .split('\n')
    .filter((line) => line.startsWith('data: ') && line !== 'data: [DONE]')
    .map((line) => JSON.parse(line.slice('data: '.length)) as JsonObject);
}

function waitingIn({ run_id, calls }: JsonObject): Waiting[] {
  return objectsIn(calls).map(({ id, tool, arguments: args, token }) => ({
    tool: textIn(tool),
    args: args as JsonObject,
    proof: { run_id, id, token },
  }));
}

/** A decision by token, which every dialect has beside its own ways. */
export function decideByToken(_chat: Chat, [first]: readonly Waiting[], approve: boolean): { path: string; body: JsonObject } {
  const { run_id: run, id, token } = first?.proof ?? {};
  const path = `/api/runs/${textIn(run)}/approvals/${encodeURIComponent(textIn(id))}`;
  return { path, body: { decision: approve ? 'approve' : 'reject', token } };
}
