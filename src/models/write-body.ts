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
  if (!Array.isArray(tools)) return JSON.stringify(body);
  const written = tools.map((tool) => (typeof tool === 'object' && tool !== null ? texts.get(tool) : undefined) ?? JSON.stringify(tool));
  const text = JSON.stringify(others);
  return `${text.slice(0, -1)}${text === '{}' ? '' : ','}"tools":[${written.join(',')}]}`;
}
