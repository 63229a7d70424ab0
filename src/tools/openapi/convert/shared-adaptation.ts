import type { JsonObject } from '../../../shared/json.ts';
import type { ConversionBudget } from './conversion-budget.ts';

/** An adapted schema, for whoever refers to it next. */
export interface InlinedSchema {
  schema: JsonObject;
  nodes: number;
  /** What was spent on it; whoever takes it over spends as much, for that is what it adds to the function. */
  cost: number;
  height: number;
}

export interface SharedAdaptation {
  budget: ConversionBudget;
  /** By reference: hundreds of functions use the same few schemas. Only what holds no definition, for those belong to one function. */
  inlined: Map<string, InlinedSchema>;
}
