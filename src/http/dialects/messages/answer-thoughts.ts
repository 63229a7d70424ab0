import { isJsonObject, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import type { AnswerHead } from '../answers/answer-format.ts';

/** A thinking block that ends. */
interface EndingBlock {
  /** The backend's name of the field; absent if the reasoning was part of the text, which no backend wants back. */
  field?: string | undefined;
  /** Of the reasoning in it. */
  characters: number;
}

/** What goes with an ending block of thinking, or before a call without one. */
interface EndedThoughts {
  signature: string;
  /** Blocks of the type `redacted_thinking`. */
  blocks: JsonObject[];
}

/** Carries what the model wants back in the signatures of thinking blocks, and in `redacted_thinking` where there is no text. */
export class AnswerThoughts {
  readonly #thoughts: AnswerHead['thoughts'];
  #fields: JsonObject = {};

  constructor(thoughts: AnswerHead['thoughts']) {
    this.#thoughts = thoughts;
  }

  /** Fields that go back with the calls that follow. */
  note(fields: JsonObject): void {
    this.#fields = { ...this.#fields, ...fields };
  }

  /** `call`: fields of the call that follows. */
  end(block: EndingBlock | undefined, call?: JsonObject): EndedThoughts {
    const own = signedBlocks(this.#fields['thinking_blocks'], block);
    const { thinking_blocks: blocks, ...others } = this.#fields;
    this.#fields = {};
    const fields = own === undefined && blocks !== undefined ? { ...others, thinking_blocks: blocks } : others;
    const thought = { ...(Object.keys(fields).length > 0 && { fields }), ...(call && { call }) };
    const isEmpty = Object.keys(thought).length === 0;
    if (block === undefined || own !== undefined) {
      const sealed = isEmpty || this.#thoughts === undefined ? [] : [{ type: 'redacted_thinking', data: this.#thoughts.seal(thought) }];
      return { signature: own?.signature ?? '', blocks: [...(own?.redacted ?? []), ...sealed] };
    }
    const { field } = block;
    return { signature: this.#thoughts?.seal({ ...(field !== undefined && { field }), ...thought }) ?? '', blocks: [] };
  }
}

/** Blocks that Anthropic has signed, if the answer can show them as they are: at most one of thinking, which comes first and is the block that ends. */
function signedBlocks(
  value: JsonValue | undefined,
  shown: EndingBlock | undefined,
): { signature: string; redacted: JsonObject[] } | undefined {
  if (!Array.isArray(value) || !value.every(isJsonObject)) return undefined;
  const [first] = value;
  const redacted = shown === undefined ? value : value.slice(1);
  if (redacted.some(({ type, data }) => type !== 'redacted_thinking' || typeof data !== 'string')) return undefined;
  if (shown === undefined) return { signature: '', redacted };
  const isShown = typeof first?.['thinking'] === 'string' && first['thinking'].length === shown.characters;
  return isShown && typeof first['signature'] === 'string' ? { signature: first['signature'], redacted } : undefined;
}
