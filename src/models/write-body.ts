import type { ToolSpec } from '../core/tool.ts';
import type { JsonObject } from '../shared/json.ts';

/** By the parameters, which are the same object in every request. */
const entries = new WeakMap<JsonObject, { spec: ToolSpec; entry: JsonObject }>();
/** The JSON of those entries. */
const texts = new WeakMap<object, string>();

/** A function as an entry of `tools`: the same object for the same function, so that its JSON is written once and not for each request. */
export function toFunctionEntry(spec: ToolSpec): JsonObject {
  const known = entries.get(spec.parameters);
  if (known !== undefined && isSame(known.spec, spec)) return known.entry;
  const copy = { ...spec };
  const entry = { type: 'function', function: copy };
  entries.set(copy.parameters, { spec: copy, entry });
  texts.set(entry, JSON.stringify(entry));
  return entry;
}

function isSame(one: ToolSpec, other: ToolSpec): boolean {
  return one.name === other.name && one.description === other.description && one.strict === other.strict;
}

/** The JSON of a request's body. `tools` comes last. */
export function writeBody(body: JsonObject): string {
  const { tools, ...others } = body;
  if (!Array.isArray(tools) || tools.length === 0) return JSON.stringify(body);
  // Not joined, which would copy the texts once more.
  let text = JSON.stringify(others).slice(0, -1);
  let separator = `${text === '{' ? '' : ','}"tools":[`;
  for (const tool of tools) {
    text += separator + ((typeof tool === 'object' && tool !== null ? texts.get(tool) : undefined) ?? JSON.stringify(tool));
    separator = ',';
  }
  return `${text}]}`;
}
