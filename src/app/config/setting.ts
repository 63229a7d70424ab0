import type { ParseValue } from './setting-values.ts';

export interface Setting<Value> {
  /** Its name in `Config`; absent if several settings make up one field, or if its default depends on other settings. */
  readonly field?: string;
  /** Where the file has it, as a path; absent: under its name in lower case. */
  readonly inFile?: string;
  /** The default, written as an operator would write it; it goes through `parse` like any other value. */
  readonly fallback?: string;
  /** Describes a default that is not a fixed value. */
  readonly shownDefault?: string;
  readonly meaning: string;
  readonly parse: ParseValue<Value>;
  /** The value is never printed. */
  readonly isSecret?: true;
}
