import type { EventFields, ItemEvents, OutputItem } from './output-items.ts';

/** The items of an answer, and the events that add and end them. */
export class ItemList {
  /** In the order of `output_index`. */
  readonly output: OutputItem[] = [];
  readonly events: ItemEvents;
  readonly #key: string;

  /** `key`: part of the ids of all items; unlike that of any other answer. */
  constructor(events: ItemEvents, key: string) {
    this.events = events;
    this.#key = key;
  }

  newId(prefix: string): string {
    return `${prefix}_${this.#key}_${this.output.length}`;
  }

  /** Returns the `output_index` of the item. */
  add(item: OutputItem): number {
    const index = this.output.push(item) - 1;
    this.events.emit('response.output_item.added', { output_index: index, item });
    return index;
  }

  /** `item`: the item, or a function that gives its JSON. */
  end(index: number, item: EventFields<'response.output_item.done'>['item']): void {
    this.events.emit('response.output_item.done', { output_index: index, item });
  }

  /** Adds an item that is complete. */
  addWhole(item: OutputItem): void {
    this.end(this.add(item), item);
  }
}
