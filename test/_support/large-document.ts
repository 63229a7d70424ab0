import { isJsonObject } from '../../src/shared/json/json.ts';
import type { JsonObject, JsonValue } from '../../src/shared/json/json.ts';

const text = (description: string): JsonObject => ({ type: 'string', description });
const ref = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });
const numbered = <Value>(count: number, make: (index: number) => [string, Value]): Record<string, Value> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => make(index)));

/** How many of the ten operations of each kind have a body of more than 25,000 tokens. */
const largePerKind = 2;

/**
 * A document as those of Kubernetes or of a cloud are: ten operations for each kind of thing, all of which share the schemas of what a thing consists of.
 * The specification of a thing has more than 25,000 tokens, and leads back to itself.
 */
export function largeDocument(operations = 1_000): JsonObject {
  const kinds = Array.from({ length: operations / 10 }, (_, index) => `Kind${index}`);
  const words = 'What this part of the specification says about where, when and how often the thing is to run, and what happens then.';
  const parts = numbered(120, (part): [string, JsonObject] => [
    `Part${part}`,
    {
      type: 'object',
      description: words,
      required: ['name'],
      properties: {
        name: text('The name.'),
        ...numbered(10, (field): [string, JsonObject] => [`field${part}_${field}`, text(`${words} (${part}.${field})`)]),
        next: ref(`Part${(part + 1) % 120}`),
        meta: ref('Meta'),
      },
    },
  ]);
  const schemas: JsonObject = {
    Meta: { type: 'object', properties: { labels: { type: 'object', additionalProperties: text('A label.') }, owner: ref('Owner') } },
    Owner: { type: 'object', properties: { name: text('Who.'), deputies: { type: 'array', items: ref('Owner') } } },
    Spec: { type: 'object', properties: numbered(120, (part) => [`part${part}`, ref(`Part${part}`)]), required: ['part0'] },
    ...parts,
    ...Object.fromEntries(
      kinds.map((kind) => [kind, { type: 'object', properties: { meta: ref('Meta'), spec: ref('Spec') }, required: ['meta'] }]),
    ),
  };
  return {
    openapi: '3.1.0',
    info: { title: 'Large', version: '1' },
    paths: Object.assign({}, ...kinds.map(pathsOf)) as JsonObject,
    components: { schemas },
  };
}

function pathsOf(kind: string, index: number): JsonObject {
  const body = (schema: JsonObject): JsonObject => ({ requestBody: { required: true, content: { 'application/json': { schema } } } });
  const name = { name: 'name', in: 'path', required: true, schema: { type: 'string' } };
  const operation = (operationId: string, more: JsonObject = {}): JsonObject => ({
    operationId: `${operationId}${kind}`,
    summary: `${operationId} things of ${kind}.`,
    responses: {},
    ...more,
  });
  const small = body({ type: 'object', properties: { meta: ref('Meta'), note: text('A note.') } });
  const large = (place: number): JsonObject => (place < largePerKind ? body(ref(kind)) : small);
  return {
    [`/kinds/${index}`]: { get: operation('list'), post: operation('create', large(0)), delete: operation('clear') },
    [`/kinds/${index}/{name}`]: {
      parameters: [name],
      get: operation('read'),
      put: operation('replace', large(1)),
      patch: operation('change', large(2)),
      delete: operation('remove'),
    },
    [`/kinds/${index}/{name}/status`]: {
      parameters: [name],
      get: operation('readStatusOf'),
      put: operation('replaceStatusOf', small),
      patch: operation('changeStatusOf', small),
    },
  };
}

/** The same document in another order: paths, methods, tags, components. `random` gives a number from 0 to below 1. */
export function shuffledDocument(document: JsonObject, random: () => number): JsonObject {
  const shuffled = (object: JsonValue | undefined): JsonObject => {
    const entries = Object.entries(isJsonObject(object) ? object : {}).map((entry) => ({ entry, rank: random() }));
    return Object.fromEntries(entries.toSorted((a, b) => a.rank - b.rank).map(({ entry }) => entry));
  };
  const paths = Object.fromEntries(Object.entries(shuffled(document['paths'])).map(([path, item]) => [path, shuffled(item)]));
  const components = Object.fromEntries(Object.entries(shuffled(document['components'])).map(([kind, named]) => [kind, shuffled(named)]));
  return shuffled({ ...document, paths, components });
}
