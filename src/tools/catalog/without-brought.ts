import type { CallerFunction } from '../../core/chat/chat.ts';
import { keepFor } from '../../shared/keep-last.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import type { Candidate } from '../definitions/tool-source.ts';

/** Separates the parts of a name: clients put the name of the MCP server before the names of its functions. */
const separator = /[^A-Za-z0-9]+/g;

interface Brought {
  /** Whether the client has put something before the name. */
  isPrefixed: boolean;
  wire: JsonObject;
}

/**
 * Leaves out functions that the request brings as its caller's own: the client has them from this gateway's `/mcp`, and a model that is offered a function
 * twice confuses the two. The client's stay, because it expects their calls. They are recognised by name and parameters, behind a prefix also by description.
 * Returns the same array if there are none.
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
function broughtByName(callerFunctions: readonly CallerFunction[], longest: number): Map<string, Brought[]> {
  const byName = new Map<string, Brought[]>();
  for (const { name, wire: entry } of callerFunctions) {
    const wire = isJsonObject(entry['function']) ? entry['function'] : {};
    const start = Math.max(0, name.length - longest - 1);
    const parts = name.slice(start).matchAll(separator);
    const ends = [0, ...Array.from(parts, ({ index, 0: text }) => start + index + text.length)];
    for (const end of ends) {
      const wanted = name.slice(end);
      const known = byName.get(wanted);
      const one = { isPrefixed: end > 0, wire };
      if (known === undefined) byName.set(wanted, [one]);
      else known.push(one);
    }
  }
  return byName;
}

function isSame({ isPrefixed, wire }: Brought, candidate: Candidate): boolean {
  const spec = candidate.spec ?? candidate.toTool(candidate.wanted).spec;
  if (isPrefixed && wire['description'] !== spec.description) return false;
  return JSON.stringify(shapeOf(wire['parameters'] ?? {})) === JSON.stringify(shapeOf(spec.parameters));
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
