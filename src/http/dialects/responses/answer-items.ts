import type { ChatEvent, McpToolList, ToolCall } from '../../../core/chat/chat.ts';
import type { PendingApproval } from '../../../core/user-input/approval.ts';
import type { DataOf, RunEvent } from '../../../core/runs/run-event.ts';
import { isJsonObject } from '../../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../../shared/json.ts';
import { textOfResult } from '../answers/answer-format.ts';
import { approvalRequestId } from './approval-request-id.ts';
import { customInput, labelOfServer, searchArguments } from './caller-tools.ts';
import type { OriginalTool } from './caller-tools.ts';
import { writeReasoning } from './kept-reasoning.ts';
import type {
  ApprovalRequestItem,
  ItemStatus,
  ListToolsItem,
  McpCallError,
  McpCallItem,
  MessageItem,
  OutputItem,
  ReasoningItem,
  ToolSearchCallItem,
} from './output-items.ts';

/** Takes the events of the items of an answer. A value that is a function gives JSON, and is called only where the event is written. */
export interface ItemEvents {
  emit(type: string, fields: Record<string, EventValue>): void;
  /** `delta` of a part that began before. */
  emitDelta(part: DeltaPlace, delta: string): void;
}
export type EventValue = JsonValue | OutputItem | (() => string);

/** Where a delta belongs. One object stands for all deltas of a part. */
export interface DeltaPlace {
  readonly type: string;
  readonly fields: JsonObject;
}

interface ItemOptions {
  runId: string;
  /** Part of the ids of all items; unlike that of any other answer. */
  key: string;
  /** By the name of the offered function, where it differs. */
  originals: Readonly<Record<string, OriginalTool>>;
  /** Adds what the client has to return for the model to go on with its reasoning. */
  keepsReasoning: boolean;
  /** Labels of MCP servers whose tools are not listed again. */
  listed: readonly string[];
  /** Writes also what the gateway itself says about an item, as text. */
  showsNotices: boolean;
}

interface OpenText {
  item: MessageItem;
  /** The JSON of its parts that have ended: a long text is serialized once, and written four times. */
  partJsons: string[];
  index: number;
  contentIndex: number;
  type: 'output_text' | 'refusal';
  text: string;
  place: DeltaPlace;
}

interface OpenReasoning {
  item: ReasoningItem;
  index: number;
  text: string;
  field: string | undefined;
  place: DeltaPlace;
}

/** A call as the events of the run describe it. */
interface OpenCall {
  tool: string;
  args: JsonValue;
  server: string;
  /** Of a call that was approved before this answer. */
  approvalRequestId?: string;
  /** Absent until it is shown. */
  item?: McpCallItem;
  index?: number;
}

/**
 * Makes the items of an answer of the events of its run, one after the other, and their events in OpenAI's order: an item is added, its parts begin,
 * grow and end, the item is done. Calls that run together are open together.
 */
export class AnswerItems {
  /** In the order of `output_index`. */
  readonly output: OutputItem[] = [];
  readonly #options: ItemOptions;
  readonly #events: ItemEvents;
  #message: OpenText | undefined;
  #reasoning: OpenReasoning | undefined;
  /** Calls without a result, by id: some backends restart their ids in every turn. */
  readonly #calls = new Map<string, OpenCall[]>();
  #logprobs: JsonObject[] = [];

  constructor(options: ItemOptions, events: ItemEvents) {
    this.#options = options;
    this.#events = events;
  }

  note(event: ChatEvent): void {
    switch (event.type) {
      case 'text':
        if (event.text !== '' && (event.isNotice !== true || this.#options.showsNotices)) this.#addText('output_text', event.text);
        return;
      case 'reasoning':
        if (event.text !== '') this.#addReasoning(event.text, event.field);
        return;
      case 'thought':
        if (this.#options.keepsReasoning) this.#addThought(event.fields);
        return;
      case 'tool-call':
        return this.#addCallerCall(event.call);
      case 'extra':
        return this.#addExtra(event.level, event.fields);
      case 'run-event':
        return this.#noteRunEvent(event.event, event.mayWait === true);
      case 'approval':
        return this.#addApprovals(event.approval);
      case 'tool-list':
        return this.#addToolList(event.list);
      case 'connect':
      case 'source':
      case 'usage':
      case 'finish':
      case 'selecting':
        return;
    }
  }

  /** Ends what is still open. `status`: of a text that was being written. */
  end(status: ItemStatus): void {
    this.#endReasoning();
    this.#endMessage(status);
    for (const call of this.#begunCalls()) this.#endCall(call, { status: 'incomplete' });
  }

  /** The items of an answer that fails: what is open stays incomplete. */
  abandon(): void {
    if (this.#message !== undefined) {
      this.#message.item.content[this.#message.contentIndex] = this.#partOf(this.#message);
      this.#message.item.status = 'incomplete';
    }
    if (this.#reasoning !== undefined) this.#reasoning.item.summary = [{ type: 'summary_text', text: this.#reasoning.text }];
    for (const { item } of this.#begunCalls()) if (item !== undefined) item.status = 'incomplete';
  }

  #add(item: OutputItem): number {
    const index = this.output.push(item) - 1;
    this.#events.emit('response.output_item.added', { output_index: index, item });
    return index;
  }

  #newId(prefix: string): string {
    return `${prefix}_${this.#options.key}_${this.output.length}`;
  }

  #addText(type: OpenText['type'], text: string): void {
    this.#endReasoning();
    const open = this.#message?.type === type ? this.#message : this.#beginText(type);
    open.text += text;
    this.#events.emitDelta(open.place, text);
  }

  #beginText(type: OpenText['type']): OpenText {
    if (this.#message !== undefined) this.#endPart(this.#message);
    const item: MessageItem = this.#message?.item ?? {
      id: this.#newId('msg'),
      type: 'message',
      status: 'in_progress',
      role: 'assistant',
      content: [],
    };
    const index = this.#message?.index ?? this.#add(item);
    const contentIndex = item.content.length;
    const where = { item_id: item.id, output_index: index, content_index: contentIndex };
    const place = { type: `response.${type}.delta`, fields: type === 'output_text' ? { ...where, logprobs: [] } : where };
    const partJsons = this.#message?.partJsons ?? [];
    const open: OpenText = { item, partJsons, index, contentIndex, type, text: '', place };
    this.#events.emit('response.content_part.added', { ...where, part: { ...this.#partOf(open) } });
    this.#message = open;
    return open;
  }

  #partOf({ type, text }: OpenText): MessageItem['content'][number] {
    return type === 'refusal' ? { type, refusal: text } : { type, annotations: [], logprobs: this.#logprobs, text };
  }

  #endPart(open: OpenText): void {
    const { item, partJsons, index, contentIndex, type, text } = open;
    const where = { item_id: item.id, output_index: index, content_index: contentIndex };
    item.content[contentIndex] = this.#partOf(open);
    const logprobs = this.#logprobs;
    const textJson = once(() => JSON.stringify(text));
    const partJson = once(() => {
      const head: JsonObject = type === 'refusal' ? { type } : { type, annotations: [], logprobs };
      const json = `${JSON.stringify(head).slice(0, -1)},"${type === 'refusal' ? 'refusal' : 'text'}":${textJson()}}`;
      partJsons.push(json);
      return json;
    });
    if (type === 'refusal') this.#events.emit('response.refusal.done', { ...where, refusal: textJson });
    else this.#events.emit('response.output_text.done', { ...where, logprobs, text: textJson });
    this.#events.emit('response.content_part.done', { ...where, part: partJson });
    if (type === 'output_text') this.#logprobs = [];
  }

  #endMessage(status: ItemStatus): void {
    const open = this.#message;
    if (open === undefined) return;
    this.#message = undefined;
    this.#endPart(open);
    const { item, partJsons, index } = open;
    item.status = status;
    const itemJson = (): string => `${JSON.stringify({ ...item, content: [] }).slice(0, -2)}${partJsons.join(',')}]}`;
    this.#events.emit('response.output_item.done', { output_index: index, item: itemJson });
  }

  #addReasoning(text: string, field: string | undefined): void {
    this.#endMessage('completed');
    const open = this.#reasoning ?? this.#beginReasoning(field);
    open.text += text;
    this.#events.emitDelta(open.place, text);
  }

  #beginReasoning(field: string | undefined): OpenReasoning {
    const item: ReasoningItem = { id: this.#newId('rs'), type: 'reasoning', summary: [] };
    const index = this.#add(item);
    const where = { item_id: item.id, output_index: index, summary_index: 0 };
    this.#events.emit('response.reasoning_summary_part.added', { ...where, part: { type: 'summary_text', text: '' } });
    const open = { item, index, text: '', field, place: { type: 'response.reasoning_summary_text.delta', fields: where } };
    this.#reasoning = open;
    return open;
  }

  #endReasoning(thought: JsonObject = {}): void {
    const open = this.#reasoning;
    if (open === undefined) return;
    this.#reasoning = undefined;
    const { item, index, text, field } = open;
    const where = { item_id: item.id, output_index: index, summary_index: 0 };
    const part = { type: 'summary_text' as const, text };
    item.summary = [part];
    if (this.#options.keepsReasoning)
      item.encrypted_content = writeReasoning({ ...(field !== undefined && { [field]: text }), ...thought });
    this.#events.emit('response.reasoning_summary_text.done', { ...where, text });
    this.#events.emit('response.reasoning_summary_part.done', { ...where, part });
    this.#events.emit('response.output_item.done', { output_index: index, item });
  }

  /** Fields that go back to the backend with the calls that follow; there may be no reasoning that can be shown. */
  #addThought(fields: JsonObject): void {
    if (this.#reasoning !== undefined) return this.#endReasoning(fields);
    this.#endMessage('completed');
    const item: ReasoningItem = { id: this.#newId('rs'), type: 'reasoning', summary: [], encrypted_content: writeReasoning(fields) };
    this.#events.emit('response.output_item.done', { output_index: this.#add(item), item });
    return undefined;
  }

  #addExtra(level: 'delta' | 'choice' | 'response', fields: JsonObject): void {
    const { refusal, logprobs } = fields;
    if (level === 'delta' && typeof refusal === 'string' && refusal !== '') this.#addText('refusal', refusal);
    const tokens = level === 'choice' && isJsonObject(logprobs) ? logprobs['content'] : undefined;
    if (Array.isArray(tokens)) this.#logprobs.push(...tokens.filter((token) => isJsonObject(token)));
  }

  #addCallerCall({ id, name, arguments: args }: ToolCall): void {
    this.#endReasoning();
    this.#endMessage('completed');
    const { originals } = this.#options;
    const original = Object.hasOwn(originals, name) ? originals[name] : undefined;
    if (original?.isSearch === true) return this.#addSearch(id, args);
    const names = { name: original?.name ?? name, ...(original?.namespace !== undefined && { namespace: original.namespace }) };
    const isCustom = original?.isCustom === true;
    const field = isCustom ? 'input' : 'arguments';
    const text = isCustom ? customInput(args) : args;
    const itemWith = (status: ItemStatus, content: string): OutputItem =>
      isCustom
        ? { id: itemId, type: 'custom_tool_call', status, call_id: id, ...names, input: content }
        : { id: itemId, type: 'function_call', status, call_id: id, ...names, arguments: content };
    const itemId = this.#newId(isCustom ? 'ctc' : 'fc');
    const index = this.#add(itemWith('in_progress', ''));
    const where = { item_id: itemId, output_index: index };
    const events = isCustom ? 'response.custom_tool_call_input' : 'response.function_call_arguments';
    this.#events.emit(`${events}.delta`, { ...where, delta: text });
    this.#events.emit(`${events}.done`, { ...where, [field]: text });
    const item = itemWith('completed', text);
    this.output[index] = item;
    this.#events.emit('response.output_item.done', { output_index: index, item });
  }

  /** OpenAI has no event for its arguments. */
  #addSearch(callId: string, args: string): void {
    const item: ToolSearchCallItem = {
      id: this.#newId('tsc'),
      type: 'tool_search_call',
      status: 'in_progress',
      call_id: callId,
      execution: 'client',
      arguments: {},
    };
    const index = this.#add(item);
    Object.assign(item, { status: 'completed', arguments: searchArguments(args) });
    this.#events.emit('response.output_item.done', { output_index: index, item });
  }

  #noteRunEvent({ type, data }: RunEvent, mayWait: boolean): void {
    // What runs within a preset is covered by the call of that preset.
    if (data.within !== undefined && type !== 'approval.request') return;
    if (type === 'tool.call') {
      const call = this.#expect(data);
      if (!mayWait) this.#beginCall(call);
    } else if (type === 'approval.request') {
      if (this.#calls.get(data.id) === undefined) this.#expect(data);
    } else if (type === 'tool.progress') {
      const [call] = this.#calls.get(data.id) ?? [];
      if (call !== undefined) this.#beginCall(call);
    } else if (type === 'tool.result') this.#settleCall(data);
  }

  #expect({ id, tool, args, server, token }: Omit<DataOf<'tool.call'>, 'within'>): OpenCall {
    const known = { tool, args, server: server ?? '' };
    const call: OpenCall =
      typeof token === 'string' ? { ...known, approvalRequestId: approvalRequestId(this.#options.runId, token) } : known;
    const others = this.#calls.get(id);
    if (others === undefined) this.#calls.set(id, [call]);
    else others.push(call);
    return call;
  }

  #beginCall(call: OpenCall): void {
    if (call.item !== undefined) return;
    this.#endReasoning();
    this.#endMessage('completed');
    const item: McpCallItem = {
      id: this.#newId('mcp'),
      type: 'mcp_call',
      status: 'in_progress',
      approval_request_id: call.approvalRequestId ?? null,
      arguments: '',
      error: null,
      name: call.tool,
      output: null,
      server_label: labelOfServer(call.server),
    };
    const index = this.#add(item);
    item.arguments = typeof call.args === 'string' ? call.args : JSON.stringify(call.args);
    call.item = item;
    call.index = index;
    const where = { item_id: item.id, output_index: index };
    this.#events.emit('response.mcp_call.in_progress', where);
    this.#events.emit('response.mcp_call_arguments.delta', { ...where, delta: item.arguments });
    this.#events.emit('response.mcp_call_arguments.done', { ...where, arguments: item.arguments });
  }

  #settleCall({ id, tool, response, error }: DataOf<'tool.result'>): void {
    const calls = this.#calls.get(id) ?? [];
    const call: OpenCall = calls.shift() ?? { tool, args: {}, server: '' };
    if (calls.length === 0) this.#calls.delete(id);
    // What a human has rejected was not executed.
    if (error?.code === 'approval_rejected' && call.item === undefined) return;
    this.#beginCall(call);
    this.#endCall(
      call,
      error === undefined ? { status: 'completed', output: textOfResult(response) } : { status: 'failed', error: toCallError(error) },
    );
  }

  #endCall({ item, index = 0 }: OpenCall, end: Partial<McpCallItem> & Pick<McpCallItem, 'status'>): void {
    if (item === undefined) return;
    Object.assign(item, end);
    const state = end.status === 'completed' ? 'completed' : 'failed';
    this.#events.emit(`response.mcp_call.${state}`, { item_id: item.id, output_index: index });
    this.#events.emit('response.output_item.done', { output_index: index, item });
  }

  #begunCalls(): OpenCall[] {
    return [...this.#calls.values()].flat().filter(({ item }) => item !== undefined);
  }

  #addToolList({ server, tools, error }: McpToolList): void {
    if (this.#options.listed.includes(server)) return;
    const listed = tools.map((tool) => ({ ...tool, annotations: null }));
    const item: ListToolsItem = { id: this.#newId('mcpl'), type: 'mcp_list_tools', server_label: server, tools: [] };
    const index = this.#add(item);
    const where = { item_id: item.id, output_index: index };
    this.#events.emit('response.mcp_list_tools.in_progress', where);
    this.#events.emit(`response.mcp_list_tools.${error === undefined ? 'completed' : 'failed'}`, where);
    Object.assign(item, { tools: listed, ...(error !== undefined && { error }) });
    this.#events.emit('response.output_item.done', { output_index: index, item });
  }

  #addApprovals({ run_id: runId, calls }: PendingApproval): void {
    this.#endReasoning();
    this.#endMessage('completed');
    for (const { id, tool, arguments: args, token } of calls) {
      const server = this.#calls.get(id)?.[0]?.server ?? '';
      const item: ApprovalRequestItem = {
        id: approvalRequestId(runId, token),
        type: 'mcp_approval_request',
        arguments: JSON.stringify(args),
        name: tool,
        server_label: labelOfServer(server),
      };
      this.#events.emit('response.output_item.done', { output_index: this.#add(item), item });
    }
  }
}

/** The arguments were at fault, or the function does not exist; JSON-RPC's code for both. */
const invalidParams = -32_602;

function toCallError({ code, message }: { code: string; message: string }): McpCallError {
  if (code === 'tool_not_found' || code.startsWith('args_')) return { type: 'mcp_protocol_error', code: invalidParams, message };
  return { type: 'mcp_tool_execution_error', content: [{ type: 'text', text: message }] };
}

function once(make: () => string): () => string {
  let made: string | undefined;
  return () => (made ??= make());
}
