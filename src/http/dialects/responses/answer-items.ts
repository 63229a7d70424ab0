import type { ChatEvent, McpToolList, ToolCall } from '../../../core/chat/chat.ts';
import type { PendingApproval } from '../../../core/user-input/approval.ts';
import type { RunEvent } from '../../../core/chat/run-event.ts';
import type { AnswerHead } from '../answers/answer-format.ts';
import { approvalRequestId } from './approval-request-id.ts';
import { customInput, labelOfServer, searchArguments, type OriginalTool } from './caller-tools.ts';
import { ItemList } from './item-list.ts';
import { McpCallItems } from './mcp-call-items.ts';
import type { ItemEvents, ItemStatus, ListToolsItem, OutputItem, ToolSearchCallItem } from './output-items.ts';
import { TextItems } from './text-items.ts';

interface ItemOptions {
  runId: string;
  /** Part of the ids of all items; unlike that of any other answer. */
  key: string;
  /** By the name of the offered function, where it differs. */
  originals: Readonly<Record<string, OriginalTool>>;
  /** Seals what the client has to return for the model to continue its reasoning; absent if it does not. */
  thoughts: AnswerHead['thoughts'];
  /** Labels of MCP servers whose tools are not listed again. */
  listed: readonly string[];
  /** Labels of MCP servers that the client itself has named, and asks its user about. Other approvals are also a message. */
  asksItself: readonly string[];
}

/**
 * Makes the items of an answer from the events of its run, one after the other, and their events in OpenAI's order: an item is added, its parts begin,
 * grow and end, the item is done.
 */
export class AnswerItems {
  readonly #options: ItemOptions;
  readonly #items: ItemList;
  readonly #texts: TextItems;
  readonly #calls: McpCallItems;
  /** What is said about the approvals that follow. */
  #notice = '';

  constructor(options: ItemOptions, events: ItemEvents) {
    this.#options = options;
    this.#items = new ItemList(events, options.key);
    this.#texts = new TextItems(this.#items, options.thoughts);
    this.#calls = new McpCallItems(this.#items, { runId: options.runId, beforeItem: () => this.#texts.end() });
  }

  get output(): readonly OutputItem[] {
    return this.#items.output;
  }

  note(event: ChatEvent): void {
    switch (event.type) {
      case 'text':
        if (event.isNotice === true && event.text !== '') this.#notice += event.text;
        else if (event.text !== '' || event.isNotice === true) this.#texts.addText('output_text', event.text);
        return;
      case 'reasoning':
        if (event.text !== '') this.#texts.addReasoning(event.text, event.field);
        return;
      case 'thought':
        return this.#texts.addThought(event.fields);
      case 'tool-call':
        return this.#addCallerCall(event.call);
      case 'extra':
        return this.#texts.addExtra(event.level, event.fields);
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
    this.#texts.end(status);
    this.#calls.end();
  }

  /** Leaves what is open incomplete, because the answer fails. */
  abandon(): void {
    this.#texts.abandon();
    this.#calls.abandon();
  }

  #addCallerCall({ id, name, arguments: args, extra }: ToolCall): void {
    this.#texts.endBeforeCall(extra);
    const { originals } = this.#options;
    const original = Object.hasOwn(originals, name) ? originals[name] : undefined;
    if (original?.isSearch === true) return this.#addSearch(id, args);
    const names = { name: original?.name ?? name, ...(original?.namespace !== undefined && { namespace: original.namespace }) };
    const { events } = this.#items;
    if (original?.isCustom === true) {
      const itemId = this.#items.newId('ctc');
      const item: OutputItem = { id: itemId, type: 'custom_tool_call', status: 'in_progress', call_id: id, ...names, input: '' };
      const index = this.#items.add(item);
      const input = customInput(args);
      const where = { item_id: itemId, output_index: index };
      events.emit('response.custom_tool_call_input.delta', { ...where, delta: input });
      events.emit('response.custom_tool_call_input.done', { ...where, input });
      return this.#items.end(index, Object.assign(item, { status: 'completed', input }));
    }
    const itemId = this.#items.newId('fc');
    const item: OutputItem = { id: itemId, type: 'function_call', status: 'in_progress', call_id: id, ...names, arguments: '' };
    const index = this.#items.add(item);
    const where = { item_id: itemId, output_index: index };
    events.emit('response.function_call_arguments.delta', { ...where, delta: args });
    events.emit('response.function_call_arguments.done', { ...where, arguments: args });
    return this.#items.end(index, Object.assign(item, { status: 'completed', arguments: args }));
  }

  /** OpenAI has no event for its arguments. */
  #addSearch(callId: string, args: string): void {
    const item: ToolSearchCallItem = {
      id: this.#items.newId('tsc'),
      type: 'tool_search_call',
      status: 'in_progress',
      call_id: callId,
      execution: 'client',
      arguments: {},
    };
    const index = this.#items.add(item);
    this.#items.end(index, Object.assign(item, { status: 'completed', arguments: searchArguments(args) } as const));
  }

  #noteRunEvent({ type, data }: RunEvent, mayWait: boolean): void {
    // The call of a preset covers what runs within it.
    if (data.within !== undefined && type !== 'approval.request') return;
    if (type === 'tool.call') this.#calls.announce(data, mayWait);
    else if (type === 'approval.request') this.#calls.announceWaiting(data);
    else if (type === 'tool.progress') this.#calls.noteProgress(data.id);
    else if (type === 'tool.result') this.#calls.settle(data);
  }

  #addToolList({ server, tools, error }: McpToolList): void {
    if (this.#options.listed.includes(server)) return;
    const listed = tools.map((tool) => ({ ...tool, annotations: null }));
    const item: ListToolsItem = { id: this.#items.newId('mcpl'), type: 'mcp_list_tools', server_label: server, tools: [] };
    const index = this.#items.add(item);
    const where = { item_id: item.id, output_index: index };
    const { events } = this.#items;
    events.emit('response.mcp_list_tools.in_progress', where);
    events.emit(`response.mcp_list_tools.${error === undefined ? 'completed' : 'failed'}`, where);
    this.#items.end(index, Object.assign(item, { tools: listed, ...(error !== undefined && { error }) }));
  }

  #addApprovals({ run_id: runId, calls }: PendingApproval): void {
    this.#texts.end();
    for (const { id, tool, arguments: args, token } of calls)
      this.#items.addWhole({
        id: approvalRequestId(runId, token),
        type: 'mcp_approval_request',
        arguments: JSON.stringify(args),
        name: tool,
        server_label: labelOfServer(this.#calls.serverOf(id)),
      });
    // A client that did not name the server may know nothing of these items, and would show an empty answer.
    const isUnexpected = calls.some(({ id }) => !this.#options.asksItself.includes(this.#calls.serverOf(id)));
    if (isUnexpected && this.#notice !== '') this.#texts.addText('output_text', this.#notice);
    this.#notice = '';
  }
}
