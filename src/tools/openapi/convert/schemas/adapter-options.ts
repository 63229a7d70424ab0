import type { JsonObject } from '../../../../shared/json/json.ts';
import type { OmittedOperation } from '../../../definitions/operation.ts';
import type { ConversionBudget } from '../../conversion-budget.ts';
import type { KindFinder } from './discriminator-kinds.ts';
import type { RecursionFinder } from './find-recursion.ts';
import type { Pointer } from './pointed-definitions.ts';

/** State that all functions of a document share. */
export interface SharedAdaptation {
  budget: ConversionBudget;
  kinds: KindFinder;
  /** By reference: hundreds of functions use the same few schemas. Only schemas without definitions, which belong to one function. */
  inlined: Map<string, InlinedSchema>;
  /** By reference: definitions of recursive schemas, for functions in which what they refer to has the same names. */
  recursive: Map<string, RecursiveDefinition>;
  /** By reference: how many nodes a schema has at least that turned out too large, so that it is not tried again by each function. */
  leastNodes: Map<string, number>;
}

/** An adapted schema, for the next reference to it. */
interface InlinedSchema {
  schema: JsonObject;
  nodes: number;
  /** The budget it has cost. Each further use costs as much, because it adds as much to the function. */
  cost: number;
  height: number;
}

/** A definition, and those that it refers to, in the order in which they were met. */
interface RecursiveDefinition {
  schema: JsonObject;
  nodes: number;
  cost: number;
  pointers: readonly Pointer[];
}

export interface AdapterOptions {
  document: JsonObject;
  isRecursive: RecursionFinder;
  /** Keep every reference as a definition, not only recursive ones: longer chains of inlining grow without measure. */
  keepsReferences: boolean;
  /** Limits all schemas together; with `keepsReferences` each definition, and each schema that is adapted. */
  maxNodes: number;
  shared: SharedAdaptation;
  /** Where given, a definition that cannot be written is noted here by its name; else its error is thrown. */
  problems?: Map<string, OmittedOperation>;
  /** Renames a definition whose name contains a secret. */
  hide?: (name: string) => string;
}
