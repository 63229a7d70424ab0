import type { JsonObject } from '../../../shared/json/json.ts';
import type { OutputForm } from '../../../core/models/model.ts';
import type { ToolSpec } from '../../../core/tools/tool.ts';
import { narrowParameters, toStrict } from './narrow-schema.ts';

/** Characters of the schema of a selection; building a grammar of more takes longer than the answer. */
export const selectionFormCharacters = 40_000;

interface SelectionBounds {
  /** 1 where the request demands a call. */
  minCalls: number;
  maxCalls: number;
}

/**
 * The JSON Schema of the answer that the selection prompt asks for. `name` comes before `parameters`, so that constrained decoding, once the name
 * is written, allows only the parameters of that function.
 */
export function selectionForm(specs: readonly ToolSpec[], bounds: SelectionBounds): OutputForm {
  const forms: ({ name: string } & ParameterForms)[] = [];
  let characters = 0;
  for (const { name, parameters } of specs) {
    const form = formsOf(parameters);
    characters += name.length + form.characters;
    // Stop early: narrowing the remaining functions, possibly many and large, would be wasted.
    if (characters > selectionFormCharacters) return openForm(specs, bounds);
    forms.push({ name, ...form });
  }
  const narrowed = forms.map(({ name, loose }) => ({ name, parameters: loose }));
  const schema = listOf(narrowed, bounds);
  if (JSON.stringify(schema).length > selectionFormCharacters) return openForm(specs, bounds);
  const strict = forms.flatMap((form) => (form.strict === undefined ? [] : [{ name: form.name, parameters: form.strict }]));
  return { schema, strictSchema: strict.length === narrowed.length ? listOf(strict, bounds) : undefined };
}

function openForm(specs: readonly ToolSpec[], bounds: SelectionBounds): OutputForm {
  const open = specs.map(({ name }) => ({ name, parameters: { type: 'object' } }));
  return { schema: listOf(open, bounds), strictSchema: undefined };
}

interface ParameterForms {
  loose: JsonObject;
  strict: JsonObject | undefined;
  /** Length of `loose` as JSON. */
  characters: number;
}

/** A cache by identity: a tool server's functions are the same objects in every request. */
const known = new WeakMap<JsonObject, ParameterForms>();

function formsOf(parameters: JsonObject): ParameterForms {
  const before = known.get(parameters);
  if (before !== undefined) return before;
  const loose = narrowParameters(parameters);
  const forms = { loose, strict: toStrict(loose), characters: JSON.stringify(loose).length };
  known.set(parameters, forms);
  return forms;
}

function listOf(functions: { name: string; parameters: JsonObject }[], { minCalls, maxCalls }: SelectionBounds): JsonObject {
  const calls = functions.map(({ name, parameters }) => objectOf({ name: { type: 'string', enum: [name] }, parameters }));
  const [only] = calls;
  const items = calls.length === 1 && only !== undefined ? only : { anyOf: calls };
  return objectOf({ tool_calls: { type: 'array', items, ...(minCalls > 0 && { minItems: minCalls }), maxItems: maxCalls } });
}

function objectOf(properties: JsonObject): JsonObject {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}
