import type { z } from 'zod';
import type { CallerWarning } from '../../../core/chat/caller-warning.ts';
import type { RequestedDecision } from '../../../core/user-input/approval.ts';
import type { AssistantMessage, ChatMessage, ToolMessage } from '../../../core/chat/chat.ts';
import type { ReturnedThought } from '../../../core/chat/thought.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import { isTextType, readImage } from '../requests/image-part.ts';
import { parseFields } from '../requests/parse-fields.ts';
import { nothingReadable, UnknownParts } from '../requests/unknown-parts.ts';
import { approvalsIn, toDecision, type Approvals } from './approval-items.ts';
import { offeredName, parseTools, searchName, type CallerTools } from './caller-tools.ts';
import { itemsOf } from './chat-messages.ts';
import { toContent } from './content-parts.ts';
import { itemSchemas } from './request-schema.ts';

/** The `input` of a request in the gateway's types. */
interface ParsedInput {
  messages: ChatMessage[];
  /** Decisions on calls that wait: approval responses after the assistant's last item. Earlier ones are history. */
  decisions: RequestedDecision[];
  /** Calls that the gateway has executed are among the messages. */
  hasExecutedCalls: boolean;
  /** The path of the first item after the decisions. */
  besideDecisions: string | undefined;
  /** Labels of the MCP servers whose tools an earlier answer has listed. */
  listed: ReadonlySet<string>;
  /** What each item brings that has tools. */
  tools: CallerTools[];
  /** About what was left out, because its type is not known. */
  warnings: CallerWarning[];
}

const nothing = { decisions: [], besideDecisions: undefined, hasExecutedCalls: false, listed: new Set<string>(), tools: [], warnings: [] };

type ItemType = keyof typeof itemSchemas;

/** Items that are part of an answer. */
const assistantTypes: ReadonlySet<unknown> = new Set([
  'function_call',
  'custom_tool_call',
  'tool_search_call',
  'reasoning',
  'mcp_call',
  'mcp_list_tools',
  'mcp_approval_request',
]);

/**
 * Items of types that are not read here are left out: a history may hold anything.
 * @throws GatewayError `invalid_request` for a malformed item, for a reference that nothing is known of, and if nothing of what is to be answered can be read
 */
export function parseInput(input: string | readonly JsonObject[]): ParsedInput {
  if (typeof input === 'string') return { ...nothing, messages: [{ role: 'user', content: input }] };
  const reader = new ItemReader(input);
  for (const [index, item] of input.entries()) for (const each of itemsOf(item)) reader.read(each, `input.${index}`, index);
  return reader.end();
}

function isOfAssistant(item: JsonObject): boolean {
  if (item['type'] === 'item_reference') return typeof item['id'] === 'string' && ownItem.test(item['id']);
  return assistantTypes.has(item['type']) || item['role'] === 'assistant';
}

/** The ids of items of an answer. */
const ownItem = /^(?:msg|rs|fc|ctc|tsc|mcp|mcpl|mcpr)_/;

class ItemReader {
  readonly #items: readonly JsonObject[];
  readonly #messages: ChatMessage[] = [];
  readonly #decisions: RequestedDecision[] = [];
  /** By the ids of the requests that the decisions are about. */
  readonly #approved = new Map<string, boolean>();
  readonly #tools: ParsedInput['tools'] = [];
  readonly #listed = new Set<string>();
  readonly #lastOfAssistant: number;
  readonly #approvals: Approvals;
  readonly #unknown = new UnknownParts();
  #besideDecisions: string | undefined;
  /** The first item after those of the assistant that could not be read. */
  #unreadable: { type: unknown; path: string } | undefined;
  #hasReadNew = false;
  #hasExecutedCalls = false;
  /** The assistant's message that further items join, and the results of its calls that the gateway has executed. */
  #open: AssistantMessage | undefined;
  #results: ToolMessage[] = [];
  /** What goes with the next call. */
  #returned: ReturnedThought[] = [];

  constructor(items: readonly JsonObject[]) {
    this.#items = items;
    this.#lastOfAssistant = items.findLastIndex(isOfAssistant);
    this.#approvals = approvalsIn(items);
  }

  read(item: JsonObject, path: string, index: number): void {
    const type = typeOf(item);
    const isNew = index > this.#lastOfAssistant;
    if (this.#decisions.length > 0 && type !== 'mcp_approval_response') this.#besideDecisions ??= path;
    if (isNew) this.#hasReadNew ||= type !== undefined;
    switch (type) {
      case 'message':
        return this.#readMessage(item, path, isNew);
      case 'reasoning':
        return this.#addThought(parseFields(itemSchemas.reasoning, item, path).encrypted_content);
      case 'function_call': {
        const call = parseFields(itemSchemas.function_call, item, path);
        return this.#addCall(call.call_id, offeredName(call.name, call.namespace), call.arguments);
      }
      case 'custom_tool_call': {
        const call = parseFields(itemSchemas.custom_tool_call, item, path);
        return this.#addCall(call.call_id, offeredName(call.name, call.namespace), JSON.stringify({ input: call.input }));
      }
      case 'function_call_output':
      case 'custom_tool_call_output': {
        const { call_id: toolCallId, output } = parseFields(itemSchemas[type], item, path);
        const location = { path: `${path}.output`, isResult: true, unknown: this.#unknown };
        this.#close();
        this.#messages.push({ role: 'tool', toolCallId, content: toContent(output as string | JsonObject[], location) });
        return undefined;
      }
      case 'tool_search_call': {
        const { call_id: id, arguments: args } = parseFields(itemSchemas.tool_search_call, item, path);
        // A search without an id of its call was executed by OpenAI.
        return typeof id === 'string' ? this.#addCall(id, searchName, JSON.stringify(args ?? {})) : undefined;
      }
      case 'tool_search_output':
        return this.#readFoundTools(item, path);
      case 'mcp_call': {
        const { id, name, arguments: args, output, error } = parseFields(itemSchemas.mcp_call, item, path);
        return this.#addExecuted({ id, name, args }, output ?? JSON.stringify({ error: error ?? 'There is no result.' }));
      }
      case 'mcp_list_tools':
        this.#listed.add(parseFields(itemSchemas.mcp_list_tools, item, path).server_label);
        return undefined;
      case 'mcp_approval_request':
        return this.#readApprovalRequest(item, path);
      case 'mcp_approval_response': {
        const response = parseFields(itemSchemas.mcp_approval_response, item, path);
        // What was said about the waiting call is an answer of its own.
        this.#close();
        return isNew ? this.#addDecision(response, path) : undefined;
      }
      case 'item_reference':
        return this.#readReference(item, path, index);
      case 'additional_tools': {
        const { tools } = parseFields(itemSchemas.additional_tools, item, path);
        this.#tools.push(parseTools(tools as JsonObject[], `${path}.tools`));
        return undefined;
      }
      case undefined:
        // A part without the message around it.
        if (isTextType(item['type']) || readImage(item) !== undefined)
          return this.#readMessage({ role: 'user', content: [item] }, path, isNew);
        this.#unknown.note(item['type'], path);
        if (isNew) this.#unreadable ??= { type: item['type'], path };
        return undefined;
    }
  }

  end(): ParsedInput {
    this.#close();
    if (this.#unreadable !== undefined && !this.#hasReadNew) {
      const { type, path } = this.#unreadable;
      throw nothingReadable(type, path, 'a message');
    }
    return {
      warnings: this.#unknown.warnings,
      messages: this.#messages,
      decisions: this.#decisions,
      besideDecisions: this.#besideDecisions,
      hasExecutedCalls: this.#hasExecutedCalls,
      listed: this.#listed,
      tools: this.#tools,
    };
  }

  #readMessage(item: JsonObject, path: string, isNew: boolean): void {
    if (isNew) this.#hasReadNew = true;
    const { role, content } = parseFields(itemSchemas.message, item, path);
    const unknownBefore = this.#unknown.count;
    const said = toContent(content as string | JsonObject[], { path: `${path}.content`, unknown: this.#unknown });
    if (said === '' && typeof content !== 'string') {
      if (isNew && role === 'user' && this.#unknown.count > unknownBefore)
        throw nothingReadable(content[0]?.type, `${path}.content.0`, 'parts of the types input_text, input_image or input_file');
      return;
    }
    if (role !== 'assistant') {
      this.#close();
      // Many backends do not know OpenAI's newer name of the role, and all know the older one.
      this.#messages.push({ role: role === 'developer' ? 'system' : role, content: said });
      return;
    }
    if (this.#open !== undefined && this.#open.toolCalls.length > 0) this.#close();
    const open = this.#assistant();
    open.content = joined(open.content, said);
  }

  #addCall(id: string, name: string, args: string): void {
    // Calls that the gateway executed are a message of their own: the client's results restore the whole turn, which is found only by the client's calls.
    if (this.#results.length > 0) this.#close();
    const open = this.#assistant();
    this.#returnWith(open, id);
    open.toolCalls.push({ id, name, arguments: args });
  }

  #addThought(text: string | null | undefined): void {
    if (typeof text === 'string') this.#returned.push({ text });
  }

  #returnWith(turn: AssistantMessage, callId: string): void {
    if (this.#returned.length === 0) return;
    turn.returned = [...(turn.returned ?? []), ...this.#returned.map((thought) => ({ ...thought, callId }))];
    this.#returned = [];
  }

  #addExecuted({ id, name, args }: { id: string; name: string; args: string }, result: string): void {
    this.#hasExecutedCalls = true;
    if (this.#open !== undefined && this.#open.toolCalls.length > this.#results.length) this.#close();
    const open = this.#assistant();
    this.#returnWith(open, id);
    open.toolCalls.push({ id, name, arguments: args });
    this.#results.push({ role: 'tool', toolCallId: id, name, content: result });
  }

  /** They are offered from then on, so their names are enough for the model. */
  #readFoundTools(item: JsonObject, path: string): void {
    const { call_id: toolCallId, tools } = parseFields(itemSchemas.tool_search_output, item, path);
    const found = parseTools(tools as JsonObject[], `${path}.tools`);
    this.#tools.push(found);
    if (typeof toolCallId !== 'string') return;
    this.#close();
    const content = JSON.stringify({ tools: found.functions.map(({ name }) => name) });
    this.#messages.push({ role: 'tool', toolCallId, content });
  }

  /** The result of a call that has not run: one that was executed has an item of its own. */
  #readApprovalRequest(item: JsonObject, path: string): void {
    const { id, name, arguments: args } = parseFields(itemSchemas.mcp_approval_request, item, path);
    if (this.#approvals.executed.has(id)) return;
    const response = this.#approvals.responses.get(id);
    const reason = typeof response?.['reason'] === 'string' ? ` The user says: ${response['reason']}` : '';
    const state =
      response === undefined
        ? 'This call waits for an approval. It has not run.'
        : response['approve'] === true
          ? 'The user approved this call. Its result is not in the conversation. Do not call it again.'
          : `The user rejected this call; it was not run.${reason}`;
    this.#addExecuted({ id, name, args }, JSON.stringify({ error: state }));
  }

  #readReference(item: JsonObject, path: string, index: number): void {
    const { id } = parseFields(itemSchemas.item_reference, item, path);
    // Reasoning and executed calls: the conversation can do without. And so it can without what was said before calls that follow.
    if (/^(?:rs|mcp|mcpl|mcpr)_/.test(id)) return;
    const next = this.#items[index + 1];
    if (id.startsWith('msg_') && (next?.['type'] === 'function_call' || next?.['type'] === 'custom_tool_call')) return;
    throw new GatewayError(
      'invalid_request',
      `${path}.id: there is no stored item of this id. Send the item itself; clients do so with "store": false.`,
      { param: `${path}.id` },
    );
  }

  /** Once for each request, whatever a client repeats. */
  #addDecision({ approval_request_id: id, approve, reason }: z.infer<typeof itemSchemas.mcp_approval_response>, path: string): void {
    const before = this.#approved.get(id);
    if (before === approve) return;
    if (before !== undefined) {
      const message = `${path}.approve: an earlier item of this input decides otherwise on the same request. Send one decision on each.`;
      throw new GatewayError('invalid_request', message, { param: `${path}.approve` });
    }
    this.#approved.set(id, approve);
    this.#decisions.push(toDecision({ id, approve, reason }, `${path}.approval_request_id`));
  }

  #assistant(): AssistantMessage {
    this.#open ??= { role: 'assistant', content: null, toolCalls: [] };
    return this.#open;
  }

  #close(): void {
    if (this.#open !== undefined) this.#messages.push(this.#open, ...this.#results);
    this.#open = undefined;
    this.#results = [];
  }
}

function typeOf(item: JsonObject): ItemType | undefined {
  const { type } = item;
  if (type === undefined || type === null) return 'role' in item ? 'message' : 'item_reference';
  return typeof type === 'string' && Object.hasOwn(itemSchemas, type) ? (type as ItemType) : undefined;
}

/** The texts of one answer are several items where calls stood between them, and are put together in their order. */
function joined(before: AssistantMessage['content'], next: NonNullable<AssistantMessage['content']>): AssistantMessage['content'] {
  if (before === null) return next;
  if (typeof before === 'string' && typeof next === 'string') return `${before}${next}`;
  return [...asParts(before), ...asParts(next)];
}

function asParts(content: NonNullable<AssistantMessage['content']>): Exclude<NonNullable<AssistantMessage['content']>, string> {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}
