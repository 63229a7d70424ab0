import { maxCallerWarnings, type CallerWarning } from '../../../core/chat/caller-warning.ts';
import { invalidField, type GatewayError } from '../../../core/errors.ts';

/** Parts, blocks and items of a request with unknown types. They are left out, with a warning for each type. */
export class UnknownParts {
  /** By type: where it is first, and how often. */
  readonly #found = new Map<string, { path: string; count: number }>();
  #count = 0;

  /** How many were noted so far. */
  get count(): number {
    return this.#count;
  }

  note(type: unknown, path: string): void {
    this.#count += 1;
    const name = shown(type);
    const found = this.#found.get(name);
    if (found !== undefined) found.count += 1;
    else if (this.#found.size < maxCallerWarnings) this.#found.set(name, { path, count: 1 });
  }

  get warnings(): CallerWarning[] {
    return [...this.#found].map(([name, { path, count }]) => {
      const others = count === 1 ? '' : ` ${count - 1} more of this type were left out too.`;
      return { code: 'part_left_out', message: `${path}: ${name} is an unknown type and was left out.${others}` };
    });
  }
}

function shown(type: unknown): string {
  return typeof type === 'string' ? JSON.stringify(type.slice(0, 100)) : 'a part without a type';
}

/** Refuses a last message without any readable part: the model would answer an earlier one. */
export function nothingReadable(type: unknown, path: string, readable: string): GatewayError {
  return invalidField(`${path}.type`, `this message has no part of a known type: ${shown(type)} is unknown. Send ${readable}.`);
}

/** Replaces a part of a result, so that the model knows that something is missing. */
export function placeholderFor(type: unknown): string {
  return `[Here stood ${typeof type === 'string' ? `a part of the type ${shown(type)}` : shown(type)}, which this server cannot read.]`;
}
