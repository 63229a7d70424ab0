import type { JsonObject } from '../../../../shared/json/json.ts';
import { OmittedOperation } from '../../../definitions/operation.ts';
import { BudgetSpent } from '../../conversion-budget.ts';
import { createNameChooser } from './component-names.ts';
import { isNullable, plainKeywords, withNull } from './schema-keywords.ts';

/** A definition that a schema refers to. */
export interface Pointer {
  name: string;
  reference: string;
}

/** The definitions of one function: schemas that are referred to, and not written out where they are used. */
export class PointedDefinitions {
  readonly definitions: JsonObject = {};
  /** Pointers that were written so far. */
  pointers = 0;
  /** The pointers written since this list was reset. */
  met: Pointer[] = [];
  readonly #names = new Map<string, string>();
  readonly #freeName = createNameChooser();
  readonly #waiting: Pointer[] = [];
  readonly #hide: (name: string) => string;

  /** `hide`: renames a definition whose name contains a secret. */
  constructor(hide: (name: string) => string = (name) => name) {
    this.#hide = hide;
  }

  /** The pointer that is written in the place of `schema`, which has that reference. */
  pointTo(reference: string, schema: JsonObject): JsonObject {
    this.pointers += 1;
    const name = this.nameOf(reference);
    this.met.push({ name, reference });
    const { description } = plainKeywords(schema);
    const pointer = { ...(description === undefined ? {} : { description }), $ref: `#/$defs/${name}` };
    return isNullable(schema) ? withNull(pointer) : pointer;
  }

  /** The name of its definition, which is written later. */
  nameOf(reference: string): string {
    const known = this.#names.get(reference);
    if (known !== undefined) return known;
    const name = this.#freeName(this.#hide(reference));
    this.#names.set(reference, name);
    this.definitions[name] = {};
    this.#waiting.push({ name, reference });
    return name;
  }

  /** One after the other and not within each other, so that long chains of definitions are not taken for depth. `problems`: as in `AdapterOptions`. */
  writeAll(write: (reference: string) => JsonObject, problems: Map<string, OmittedOperation> | undefined): void {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      try {
        this.definitions[next.name] = write(next.reference);
      } catch (error) {
        if (problems === undefined || error instanceof BudgetSpent || !(error instanceof OmittedOperation)) throw error;
        problems.set(next.name, error);
      }
    }
  }
}
