import type { ThoughtSeals } from '../../../../core/chat/thought.ts';
import type { Caller } from '../../../../core/callers/caller.ts';
import { isJsonObject, type JsonObject } from '../../../../shared/json/json.ts';
import type { AnswerStorage } from '../../answers/answer-storage.ts';

const field = 'compaction';
/** Sealed texts of one request that are opened: a window has one, and opening takes time for each character. */
const openedItems = 16;

/** An item that holds the summary, readable for this caller's requests only. */
export function toCompaction(summary: string, how: { id: string; caller: Caller; model: string; seals: ThoughtSeals }): JsonObject {
  const { id, caller, model, seals } = how;
  return { type: 'compaction', id: `cmp_${id}`, encrypted_content: seals.seal(caller.id, { model, fields: { [field]: summary } }) };
}

/** Puts messages in the place of the caller's own items `compaction`. Others stay: the dialect names them in a warning. */
export function openingCompactions(storage: AnswerStorage, seals: ThoughtSeals): AnswerStorage {
  function opened(caller: Caller, items: readonly unknown[]): unknown[] {
    let left = openedItems;
    return items.map((item) => {
      if (!isJsonObject(item) || item['type'] !== 'compaction' || typeof item['encrypted_content'] !== 'string' || left === 0) return item;
      left -= 1;
      const summary = seals.open(caller.id, item['encrypted_content'])?.fields?.[field];
      if (typeof summary !== 'string') return item;
      return { type: 'message', role: 'user', content: `This is a summary of the conversation so far:\n\n${summary}` };
    });
  }

  return {
    prepare(sent, caller) {
      const input = isJsonObject(sent) ? sent['input'] : undefined;
      if (!isJsonObject(sent) || !Array.isArray(input)) return storage.prepare(sent, caller);
      return storage.prepare({ ...sent, input: opened(caller, input) }, caller);
    },
  };
}
