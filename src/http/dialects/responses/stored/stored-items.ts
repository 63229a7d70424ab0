import type { StoredResponse } from '../../../../core/stores/response-store.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../../shared/json/json.ts';

/** The items of an `input`; undefined for anything else, which the schema of the request refuses. */
export function itemsIn(input: JsonValue | undefined): JsonObject[] | undefined {
  if (input === undefined || input === null) return [];
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }];
  return Array.isArray(input) && input.every(isJsonObject) ? input : undefined;
}

/** The id that an item refers to; undefined for an item that is there itself. */
export function referenceIn({ type, id, role }: JsonObject): string | undefined {
  const isReference = type === 'item_reference' || ((type === undefined || type === null) && role === undefined);
  return isReference && typeof id === 'string' ? id : undefined;
}

/**
 * The items as OpenAI lists them: each with an id, and the content of messages in parts. Without tools, which only hold for their own request and may
 * have credentials, and without references that lead nowhere.
 */
export function toStoredItems(items: readonly JsonObject[], newId: () => string): JsonObject[] {
  const kept = items.filter((item) => item['type'] !== 'additional_tools' && referenceIn(item) === undefined);
  return kept.map((item) => {
    const isMessage = item['type'] === undefined || item['type'] === null || item['type'] === 'message';
    const id = idOf(item) || `${isMessage ? 'msg' : 'item'}_${newId()}`;
    return isMessage ? { ...item, id, type: 'message', status: 'completed', content: partsOf(item) } : { ...item, id };
  });
}

function partsOf({ role, content }: JsonObject): JsonValue | undefined {
  if (typeof content !== 'string') return content;
  return role === 'assistant' ? [{ type: 'output_text', text: content, annotations: [] }] : [{ type: 'input_text', text: content }];
}

/**
 * The items of responses that build on each other, before those of the next request. Calls that wait may be decided elsewhere, by a person or a program:
 * those that no item decides are replaced by the link to the page, which a run replaces by their results.
 */
export function toHistory(responses: readonly Pick<StoredResponse, 'input' | 'response'>[], next: readonly JsonObject[]): JsonObject[] {
  const decisions = [...responses.flatMap(({ input }) => input), ...next].filter(({ type }) => type === decisionType);
  const decided = new Set(decisions.map((decision) => decision['approval_request_id']));
  return responses.flatMap(({ input, response }) => {
    const output = outputIn(response);
    const { approval } = response;
    const link = isJsonObject(approval) ? approval['url'] : undefined;
    const left = output.filter(({ type, id = null }) => type !== 'mcp_approval_request' || decided.has(id));
    if (typeof link !== 'string' || left.length === output.length) return [...input, ...output];
    return [...input, ...left, { type: 'message', role: 'assistant', content: link }];
  });
}

/** The items with a note instead of each image and file. */
export function withoutMedia(items: readonly JsonObject[]): JsonObject[] {
  return items.map((item) => {
    const field = Array.isArray(item['content']) ? 'content' : 'output';
    const parts = item[field];
    return Array.isArray(parts) ? { ...item, [field]: parts.map(withoutMediaPart) } : item;
  });
}

function withoutMediaPart(part: JsonValue): JsonValue {
  if (!isJsonObject(part) || (part['type'] !== 'input_image' && part['type'] !== 'input_file')) return part;
  return { type: 'input_text', text: `[${part['type']} left out: too large to be stored]` };
}

/** Whether an item is part of an answer, not of a request. */
export function isOfAnswer({ role, type }: JsonObject): boolean {
  if (role !== undefined) return role === 'assistant';
  return typeof type === 'string' && !type.endsWith('_output') && type !== decisionType;
}

/** The items of a request that resumes a run with decisions: other new items are no part of the conversation. */
export function withDecisionsOnly(items: readonly JsonObject[]): JsonObject[] {
  const last = items.findLastIndex(isOfAnswer);
  return items.filter(({ type }, index) => index <= last || type === decisionType);
}

const decisionType = 'mcp_approval_response';

/** The id of an item or a response; empty without one. */
export function idOf({ id }: JsonObject): string {
  return typeof id === 'string' ? id : '';
}

/** The items of a response. */
export function outputIn({ output }: JsonObject): JsonObject[] {
  return Array.isArray(output) ? output.filter(isJsonObject) : [];
}
