import type { ResponseOutputText } from 'openai/resources/responses/responses';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import type { AnswerHead } from '../answers/answer-format.ts';
import type { ItemList } from './item-list.ts';
import type { DeltaTarget, ItemStatus, MessageItem, ReasoningItem } from './output-items.ts';

interface OpenText {
  item: MessageItem;
  /** The JSON of its parts that have ended: a long text is serialized once, and written four times. */
  partJsons: string[];
  index: number;
  contentIndex: number;
  type: 'output_text' | 'refusal';
  text: string;
  target: DeltaTarget;
}

interface OpenReasoning {
  item: ReasoningItem;
  index: number;
  text: string;
  field: string | undefined;
  target: DeltaTarget;
}

/** The messages and the reasoning of an answer. One of them is open at a time. */
export class TextItems {
  readonly #items: ItemList;
  readonly #thoughts: AnswerHead['thoughts'];
  #fields: JsonObject = {};
  #message: OpenText | undefined;
  #reasoning: OpenReasoning | undefined;
  #logprobs: ResponseOutputText.Logprob[] = [];

  /** `thoughts`: seals what the client has to return for the model to continue its reasoning. */
  constructor(items: ItemList, thoughts: AnswerHead['thoughts']) {
    this.#items = items;
    this.#thoughts = thoughts;
  }

  addText(type: OpenText['type'], text: string): void {
    this.#endReasoning();
    const open = this.#message?.type === type ? this.#message : this.#beginText(type);
    open.text += text;
    this.#items.events.emitDelta(open.target, text);
  }

  addReasoning(text: string, field: string | undefined): void {
    this.#endMessage('completed');
    const open = this.#reasoning ?? this.#beginReasoning(field);
    open.text += text;
    this.#items.events.emitDelta(open.target, text);
  }

  /** Fields that go back to the backend with the calls that follow. */
  addThought(fields: JsonObject): void {
    this.#fields = { ...this.#fields, ...fields };
  }

  /** Ends what is open before a call of the caller. `call`: what goes back with it. There may be no reasoning that can be shown. */
  endBeforeCall(call: JsonObject | undefined): void {
    const isMissing = this.#reasoning === undefined && (call !== undefined || Object.keys(this.#fields).length > 0);
    this.#endReasoning(call);
    this.#endMessage('completed');
    const encrypted = isMissing ? this.#sealed({}, call) : undefined;
    if (encrypted !== undefined)
      this.#items.addWhole({ id: this.#items.newId('rs'), type: 'reasoning', summary: [], encrypted_content: encrypted });
  }

  addExtra(level: 'delta' | 'choice' | 'response', { refusal, logprobs }: JsonObject): void {
    if (level === 'delta' && typeof refusal === 'string' && refusal !== '') this.addText('refusal', refusal);
    const tokens = level === 'choice' && isJsonObject(logprobs) ? logprobs['content'] : undefined;
    if (Array.isArray(tokens)) this.#logprobs.push(...tokens.filter(isLogprob));
  }

  /** `status`: of a message that is still open. */
  end(status: ItemStatus = 'completed'): void {
    this.#endReasoning();
    this.#endMessage(status);
  }

  /** Leaves what is open incomplete, because the answer fails. */
  abandon(): void {
    if (this.#message !== undefined) {
      this.#message.item.content[this.#message.contentIndex] = this.#partOf(this.#message);
      this.#message.item.status = 'incomplete';
    }
    if (this.#reasoning !== undefined) this.#reasoning.item.summary = [{ type: 'summary_text', text: this.#reasoning.text }];
  }

  #beginText(type: OpenText['type']): OpenText {
    if (this.#message !== undefined) this.#endPart(this.#message);
    const item: MessageItem = this.#message?.item ?? {
      id: this.#items.newId('msg'),
      type: 'message',
      status: 'in_progress',
      role: 'assistant',
      content: [],
    };
    const index = this.#message?.index ?? this.#items.add(item);
    const contentIndex = item.content.length;
    const where = { item_id: item.id, output_index: index, content_index: contentIndex };
    const target: DeltaTarget = { type: `response.${type}.delta`, fields: type === 'output_text' ? { ...where, logprobs: [] } : where };
    const partJsons = this.#message?.partJsons ?? [];
    const open: OpenText = { item, partJsons, index, contentIndex, type, text: '', target };
    this.#items.events.emit('response.content_part.added', { ...where, part: { ...this.#partOf(open) } });
    this.#message = open;
    return open;
  }

  #partOf({ type, text }: OpenText): MessageItem['content'][number] {
    return type === 'refusal' ? { type, refusal: text } : { type, annotations: [], logprobs: this.#logprobs, text };
  }

  #endPart(open: OpenText): void {
    const { item, partJsons, index, contentIndex, type, text } = open;
    const { events } = this.#items;
    const where = { item_id: item.id, output_index: index, content_index: contentIndex };
    item.content[contentIndex] = this.#partOf(open);
    const logprobs = this.#logprobs;
    const textJson = once(() => JSON.stringify(text));
    const partJson = once(() => {
      const head = type === 'refusal' ? { type } : { type, annotations: [], logprobs };
      const json = `${JSON.stringify(head).slice(0, -1)},"${type === 'refusal' ? 'refusal' : 'text'}":${textJson()}}`;
      partJsons.push(json);
      return json;
    });
    if (type === 'refusal') events.emit('response.refusal.done', { ...where, refusal: textJson });
    else events.emit('response.output_text.done', { ...where, logprobs, text: textJson });
    events.emit('response.content_part.done', { ...where, part: partJson });
    if (type === 'output_text') this.#logprobs = [];
  }

  #endMessage(status: ItemStatus): void {
    const open = this.#message;
    if (open === undefined) return;
    this.#message = undefined;
    this.#endPart(open);
    const { item, partJsons, index } = open;
    item.status = status;
    this.#items.end(index, () => `${JSON.stringify({ ...item, content: [] }).slice(0, -2)}${partJsons.join(',')}]}`);
  }

  #beginReasoning(field: string | undefined): OpenReasoning {
    const item: ReasoningItem = { id: this.#items.newId('rs'), type: 'reasoning', summary: [] };
    const index = this.#items.add(item);
    const where = { item_id: item.id, output_index: index, summary_index: 0 };
    this.#items.events.emit('response.reasoning_summary_part.added', { ...where, part: { type: 'summary_text', text: '' } });
    const target = { type: 'response.reasoning_summary_text.delta', fields: where } as const;
    const open = { item, index, text: '', field, target };
    this.#reasoning = open;
    return open;
  }

  /** Undefined if the client does not return it. */
  #sealed(reasoning: JsonObject, call: JsonObject | undefined): string | undefined {
    const fields = { ...reasoning, ...this.#fields };
    this.#fields = {};
    return this.#thoughts?.seal({ fields, ...(call && { call }) });
  }

  #endReasoning(call?: JsonObject): void {
    const open = this.#reasoning;
    if (open === undefined) return;
    this.#reasoning = undefined;
    const { item, index, text, field } = open;
    const { events } = this.#items;
    const where = { item_id: item.id, output_index: index, summary_index: 0 };
    const part = { type: 'summary_text' as const, text };
    item.summary = [part];
    const encrypted = this.#sealed(field === undefined ? {} : { [field]: text }, call);
    // Clients that ask for it leave out reasoning without it.
    if (encrypted !== undefined) item.encrypted_content = encrypted;
    events.emit('response.reasoning_summary_text.done', { ...where, text });
    events.emit('response.reasoning_summary_part.done', { ...where, part });
    this.#items.end(index, item);
  }
}

/** The backend's, which are passed on as they are. */
function isLogprob(token: JsonValue): token is JsonObject & ResponseOutputText.Logprob {
  return isJsonObject(token);
}

function once(make: () => string): () => string {
  let made: string | undefined;
  return () => (made ??= make());
}
