import { LRUCache } from 'lru-cache';
import { keyIdOf } from '../../core/callers/people.ts';
import { FairMap } from '../../shared/fairness/fair-map.ts';

/** The most models to remember; the one that was used least recently is evicted first. */
const maxModels = 1_000;
/** The most callers of one model. */
const maxCallers = 1_000;
/** Answers to callers with this many keys have to show it before it holds for others. */
const neededKeys = 2;

interface Shown {
  keyId: string;
  opensInTemplate: boolean;
}

/**
 * Remembers for which models the chat template opens the reasoning block. Learned from each answer and corrected by the next one. A caller can make a
 * model write a closing tag, so what an answer shows holds for its caller, and for others only once answers to another key have shown the same.
 */
export class ReasoningTemplateCache {
  readonly #models = new LRUCache<string, FairMap<Shown>>({ max: maxModels });

  startsInReasoning(model: string, callerId = ''): boolean {
    const known = this.#models.get(model);
    if (known === undefined) return false;
    return known.get(callerId)?.opensInTemplate ?? isShownToMany(known);
  }

  /** Takes `opensInTemplate` of a splitter; undefined changes nothing. */
  learn(model: string, opensInTemplate: boolean | undefined, callerId = ''): void {
    if (opensInTemplate === undefined) return;
    const known = this.#models.get(model) ?? new FairMap<Shown>({ entries: maxCallers, characters: Infinity });
    known.set(callerId, { owner: callerId, value: { keyId: keyIdOf(callerId), opensInTemplate }, characters: 0 });
    this.#models.set(model, known);
  }
}

function isShownToMany(known: FairMap<Shown>): boolean {
  const keys = { true: new Set<string>(), false: new Set<string>() };
  for (const [, { keyId, opensInTemplate }] of known) keys[`${opensInTemplate}`].add(keyId);
  return keys.true.size >= neededKeys && keys.true.size > keys.false.size;
}
