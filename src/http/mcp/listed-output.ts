import { findByPointer } from '../../shared/json-schema/pointer.ts';
import { isContainer, isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';

/** `outputSchema` of an MCP tool: the protocol versions of 2025 have it as an object schema, and clients refuse a whole list for another one. */
type OutputSchema = JsonObject & { type: 'object' };

/** Characters of such a schema: clients hold the list in memory, and the largest known ones have a tenth of it. */
const maxOutputCharacters = 100_000;

const listed = new WeakMap<JsonObject, OutputSchema | undefined>();

/**
 * The schema of a function's results as MCP clients read it; undefined if they could not. Clients of the official SDKs compile the schemas of all tools
 * when they read the list, and for one that does not compile they fail.
 */
export function toListedOutput(schema: JsonObject): OutputSchema | undefined {
  if (!listed.has(schema)) listed.set(schema, isReadable(schema) ? withoutDialect(schema) : undefined);
  return listed.get(schema);
}

/** Validators that know one dialect refuse the names of others. */
function withoutDialect({ $schema: _dialect, ...schema }: JsonObject): OutputSchema {
  return { ...schema, type: 'object' };
}

function isReadable(schema: JsonObject): boolean {
  const { type, properties = {}, required = [] } = schema;
  if (type !== 'object' || !isJsonObject(properties) || !Object.values(properties).every(isJsonObject)) return false;
  if (!Array.isArray(required) || !required.every((name) => typeof name === 'string')) return false;
  return JSON.stringify(schema).length <= maxOutputCharacters && compiles(schema, schema);
}

/** Whether all references and patterns in it can be resolved. Its depth is limited (`Tool.outputSchema`). */
function compiles(value: JsonValue | undefined, root: JsonObject): boolean {
  if (!isContainer(value)) return true;
  if (!Array.isArray(value)) {
    const { $ref: reference, pattern } = value;
    if (typeof reference === 'string' && findByPointer(root, reference) === undefined) return false;
    if (typeof pattern === 'string' && !isPattern(pattern)) return false;
  }
  return Object.values(value).every((child) => compiles(child, root));
}

function isPattern(source: string): boolean {
  try {
    return new RegExp(source, 'u').source !== '';
  } catch {
    return false;
  }
}
