import type { DataOf } from '../../../core/chat/run-event.ts';
import type { JsonValue } from '../../../shared/json/json.ts';
import { textOfResult } from '../../../chat/results/result-text.ts';
import { approvalRequestId } from './approval-request-id.ts';
import { labelOfServer } from './caller-tools.ts';
import type { ItemList } from './item-list.ts';
import type { McpCallItem } from './output-items.ts';

/** A call as the events of the run describe it. */
interface CallInProgress {
  tool: string;
  args: JsonValue;
  server: string;
  /** Present if the call was approved before this answer. */
  approvalRequestId?: string;
  /** Absent until the call is shown. */
  shown?: { item: McpCallItem; index: number };
}

type CallEnd = Pick<McpCallItem, 'error' | 'output'> & { status: 'completed' | 'failed' | 'incomplete' };

/** The calls that the gateway executes. Those that run together are open together. */
export class McpCallItems {
  readonly #items: ItemList;
  readonly #runId: string;
  /** Calls without a result, by id: some backends restart their ids in every turn. */
  readonly #calls = new Map<string, CallInProgress[]>();
  readonly #beforeItem: () => void;

  /** `beforeItem` ends what has to end before a call is shown. */
  constructor(items: ItemList, { runId, beforeItem }: { runId: string; beforeItem: () => void }) {
    this.#items = items;
    this.#runId = runId;
    this.#beforeItem = beforeItem;
  }

  /** A call that may wait for a person is shown when it begins or ends. */
  announce(data: Omit<DataOf<'tool.call'>, 'within'>, mayWait: boolean): void {
    const call = this.#expect(data);
    if (!mayWait) this.#show(call);
  }

  announceWaiting(data: DataOf<'approval.request'>): void {
    if (this.#calls.get(data.id) === undefined) this.#expect(data);
  }

  noteProgress(id: string): void {
    const [call] = this.#calls.get(id) ?? [];
    if (call !== undefined) this.#show(call);
  }

  settle({ id, tool, response, error }: DataOf<'tool.result'>): void {
    const calls = this.#calls.get(id) ?? [];
    const call: CallInProgress = calls.shift() ?? { tool, args: {}, server: '' };
    if (calls.length === 0) this.#calls.delete(id);
    // A call that a person has rejected was not executed.
    if (error?.code === 'approval_rejected' && call.shown === undefined) return;
    this.#show(call);
    this.#end(
      call,
      error === undefined ? { status: 'completed', output: textOfResult(response) } : { status: 'failed', error: toCallError(error) },
    );
  }

  /** The server of a call that waits; empty if there is none. */
  serverOf(id: string): string {
    return this.#calls.get(id)?.[0]?.server ?? '';
  }

  end(): void {
    for (const call of this.#shownCalls()) this.#end(call, { status: 'incomplete' });
  }

  abandon(): void {
    for (const { shown } of this.#shownCalls()) if (shown !== undefined) shown.item.status = 'incomplete';
  }

  #expect({ id, tool, args, server, token }: Omit<DataOf<'tool.call'>, 'within'>): CallInProgress {
    const call: CallInProgress = { tool, args, server: server ?? '' };
    if (typeof token === 'string') call.approvalRequestId = approvalRequestId(this.#runId, token);
    const others = this.#calls.get(id);
    if (others === undefined) this.#calls.set(id, [call]);
    else others.push(call);
    return call;
  }

  #show(call: CallInProgress): void {
    if (call.shown !== undefined) return;
    this.#beforeItem();
    const item: McpCallItem = {
      id: this.#items.newId('mcp'),
      type: 'mcp_call',
      status: 'in_progress',
      approval_request_id: call.approvalRequestId ?? null,
      arguments: '',
      error: null,
      name: call.tool,
      output: null,
      server_label: labelOfServer(call.server),
    };
    const index = this.#items.add(item);
    item.arguments = typeof call.args === 'string' ? call.args : JSON.stringify(call.args);
    call.shown = { item, index };
    const where = { item_id: item.id, output_index: index };
    const { events } = this.#items;
    events.emit('response.mcp_call.in_progress', where);
    events.emit('response.mcp_call_arguments.delta', { ...where, delta: item.arguments });
    events.emit('response.mcp_call_arguments.done', { ...where, arguments: item.arguments });
  }

  #end({ shown }: CallInProgress, end: CallEnd): void {
    if (shown === undefined) return;
    const { item, index } = shown;
    Object.assign(item, end);
    const state = end.status === 'completed' ? 'completed' : 'failed';
    this.#items.events.emit(`response.mcp_call.${state}`, { item_id: item.id, output_index: index });
    this.#items.end(index, item);
  }

  #shownCalls(): CallInProgress[] {
    return [...this.#calls.values()].flat().filter(({ shown }) => shown !== undefined);
  }
}

/** The arguments were at fault, or the function does not exist; JSON-RPC's code for both. */
const invalidParams = -32_602;

function toCallError({ code, message }: { code: string; message: string }): NonNullable<McpCallItem['error']> {
  if (code === 'tool_not_found' || code.startsWith('args_')) return { type: 'mcp_protocol_error', code: invalidParams, message };
  return { type: 'mcp_tool_execution_error', content: [{ type: 'text', text: message }] };
}
