import type { CallerFunction } from '../../core/chat/chat.ts';
import { keepFor } from '../../shared/keep-last.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import type { Candidate } from '../definitions/tool-source.ts';

/** Separates the parts of a name: clients put the name of the MCP server before the names of its functions. */
const separator = /[^A-Za-z0-9]+/g;

/** Clients may cut longer descriptions. */
const comparedCharacters = 200;

/**
 * Leaves out functions that the request brings as its caller's own: the client has them from this gateway's `/mcp`, and a model that is offered a function
 * twice confuses the two. The client's stay, because it expects their calls. They are recognised by name, description and parameters: a function of the
 * client's own may well have the same name. Returns the same array if there are none.
 */
export function withoutBrought(candidates: readonly Candidate[], callerFunctions: readonly CallerFunction[]): readonly Candidate[] {
  if (callerFunctions.length === 0) return candidates;
  const { named, longest } = byWantedName(candidates);
  const brought = new Set<Candidate>();
  for (const [name, entries] of broughtByName(callerFunctions, longest)) {
    for (const candidate of named.get(name) ?? []) if (entries.some((entry) => isSame(entry, candidate))) brought.add(candidate);
  }
  return brought.size === 0 ? candidates : candidates.filter((candidate) => !brought.has(candidate));
}

interface NamedCandidates {
  named: ReadonlyMap<string, Candidate[]>;
  /** Characters of the longest name. */
  longest: number;
}

const byWantedName = keepFor((candidates: readonly Candidate[]): NamedCandidates => {
  const named = Map.groupBy(candidates, ({ wanted }) => wanted);
  return { named, longest: named.keys().reduce((most, { length }) => Math.max(most, length), 0) };
});

/** By each end of a name that may be the name of a candidate: a client's own name may have millions of parts. */
function broughtByName(callerFunctions: readonly CallerFunction[], longest: number): Map<string, JsonObject[]> {
  const byName = new Map<string, JsonObject[]>();
  for (const { name, wire: entry } of callerFunctions) {
    const wire = isJsonObject(entry['function']) ? entry['function'] : {};
    const start = Math.max(0, name.length - longest - 1);
    const parts = name.slice(start).matchAll(separator);
    const ends = [0, ...Array.from(parts, ({ index, 0: text }) => start + index + text.length)];
    for (const end of ends) {
      const wanted = name.slice(end);
      const known = byName.get(wanted);
      if (known === undefined) byName.set(wanted, [wire]);
      else known.push(wire);
    }
  }
  return byName;
}

function isSame(wire: JsonObject, candidate: Candidate): boolean {
  const spec = candidate.spec ?? candidate.toTool(candidate.wanted).spec;
  if (!isDescribedAlike(wire['description'], spec.description)) return false;
  return JSON.stringify(shapeOf(wire['parameters'] ?? {})) === JSON.stringify(shapeOf(spec.parameters));
}

function isDescribedAlike(written: JsonValue | undefined, description: string): boolean {
  const [one, other] = [typeof written === 'string' ? written.trim() : '', description.trim()];
  return one === other || (one.length >= comparedCharacters && other.startsWith(one.slice(0, comparedCharacters)));
}

/** The parts of a schema that survive a client's conversion: types, members, and which members are required. */
function shapeOf(schema: JsonValue): JsonValue {
  if (!isJsonObject(schema)) return schema;
  const { type, properties, required, items, enum: choices = null } = schema;
  const members = isJsonObject(properties) ? Object.entries(properties).toSorted(([one], [other]) => (one < other ? -1 : 1)) : [];
  return {
    type: typeof type === 'string' ? type.toLowerCase() : (type ?? null),
    properties: members.map(([name, member]) => [name, shapeOf(member ?? null)]),
    required: Array.isArray(required) ? required.map(String).toSorted() : [],
    items: items === undefined ? null : shapeOf(items),
    enum: choices,
  };
}
