/**
 * A `Map` from texts to objects, for a table that lives as long as the process and changes with each request. V8 links each outgrown table of a `Map`
 * to its successor: once one is old, the garbage collector keeps everything that was ever put into a later one until its next full collection, though
 * it was deleted. Here the `Map` holds numbers alone, and the objects lie in an array. In the order in which the keys came.
 */
export class SlotTable<Value extends object> {
  readonly #slots = new Map<string, number>();
  readonly #values: (Value | undefined)[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#slots.size;
  }

  get(key: string): Value | undefined {
    const slot = this.#slots.get(key);
    return slot === undefined ? undefined : this.#values[slot];
  }

  set(key: string, value: Value): void {
    let slot = this.#slots.get(key);
    if (slot === undefined) {
      slot = this.#free.pop() ?? this.#values.length;
      this.#slots.set(key, slot);
    }
    this.#values[slot] = value;
  }

  delete(key: string): void {
    const slot = this.#slots.get(key);
    if (slot === undefined) return;
    this.#slots.delete(key);
    this.#values[slot] = undefined;
    this.#free.push(slot);
  }

  /** As they are now: the table may be changed while they are read. */
  entries(): [key: string, value: Value][] {
    return Array.from(this.#slots).flatMap(([key, slot]): [string, Value][] => {
      const value = this.#values[slot];
      return value === undefined ? [] : [[key, value]];
    });
  }

  values(): Value[] {
    const values: Value[] = [];
    for (const slot of this.#slots.values()) {
      const value = this.#values[slot];
      if (value !== undefined) values.push(value);
    }
    return values;
  }
}
