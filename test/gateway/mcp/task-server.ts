import type { OutboundResponse, SendOutbound } from '../../../src/core/outbound.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { outboundBody } from '../../_support/outbound-body.ts';
import { jsonResponse } from '../../tools/scripted-send.ts';

export type Era = '2025-11-25' | '2026-07-28';

export interface Message {
  id?: number;
  method: string;
  params?: JsonObject;
}

export const taskId = 'task-1';
const done = { content: [{ type: 'text', text: 'Rendered.' }], structuredContent: { frames: 2, note: null } };

/** An MCP server whose only tool runs as a task; `states` are what it says of the task, one after the other, the last one from then on. */
export class TaskServer {
  readonly era: Era;
  readonly asked: Message[] = [];
  readonly times: number[] = [];
  states: JsonObject[] = [{ status: 'completed' }];
  result: JsonObject = done;
  pollMs = 100;
  /** Answers a request in another way. */
  answer: (message: Message) => Promise<OutboundResponse | undefined> | OutboundResponse | undefined = () => undefined;

  constructor(era: Era) {
    this.era = era;
  }

  methods(): string[] {
    return this.asked.map(({ method }) => method).filter((method) => method.startsWith('tasks/') || method === 'tools/call');
  }

  readonly send: SendOutbound = async (request) => {
    if (request.method !== 'POST') return jsonResponse({}, 405);
    const message = JSON.parse(String(request.body)) as Message;
    this.asked.push(message);
    if (message.id === undefined) return { status: 202, headers: {}, body: outboundBody((async function* () {})()) };
    const { id } = message;
    const result = this.#resultOf(message);
    return (await this.answer(message)) ?? jsonResponse({ jsonrpc: '2.0', id, ...(result === undefined ? unknown : { result }) });
  };

  #resultOf({ method }: Message): JsonObject | undefined {
    const isModern = this.era === '2026-07-28';
    const [pollKey, complete] = isModern ? ['pollIntervalMs', { resultType: 'complete' }] : ['pollInterval', {}];
    const about = { taskId, createdAt: '2026-11-28T10:00:00Z', lastUpdatedAt: '2026-11-28T10:00:00Z', ttl: null, [pollKey]: this.pollMs };
    switch (method) {
      case 'server/discover':
        return isModern ? { ...complete, supportedVersions: [this.era], capabilities: { tools: {} } } : undefined;
      case 'initialize':
        return {
          protocolVersion: this.era,
          capabilities: { tools: {}, tasks: { cancel: {}, requests: { tools: { call: {} } } } },
          serverInfo: { name: 'tasks', version: '1' },
        };
      case 'tools/list':
        return {
          ...complete,
          tools: [{ name: 'render', inputSchema: { type: 'object' }, ...(!isModern && { execution: { taskSupport: 'required' } }) }],
        };
      case 'tools/call':
        return isModern ? { resultType: 'task', status: 'working', ...about } : { task: { status: 'working', ...about } };
      case 'tasks/get': {
        this.times.push(performance.now());
        const state = this.states.length > 1 ? this.states.shift() : this.states[0];
        const isDone = isModern && state?.['status'] === 'completed';
        return { ...complete, ...about, ...(isDone && { result: this.result }), ...state };
      }
      case 'tasks/result':
        return isModern ? undefined : this.result;
      default:
        return { ...complete };
    }
  }
}

const unknown = { error: { code: -32_601, message: 'Method not found' } };
