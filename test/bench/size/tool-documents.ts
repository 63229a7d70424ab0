/** A document of OpenAPI with so many operations, whose names no other document has. */
export function documentOf(name: string, operations: number): object {
  const paths = Object.fromEntries(
    Array.from({ length: operations }, (_, index) => [`/things/${index}`, { get: operationOf(name, index) }]),
  );
  return { openapi: '3.1.0', info: { title: name, version: '1' }, servers: [{ url: 'http://127.0.0.1:9' }], paths };
}

const verbs = ['list', 'find', 'count', 'sort', 'join'];
const nouns = ['order', 'parcel', 'garden', 'window', 'ticket', 'invoice', 'lamp', 'river'];

function operationOf(name: string, index: number): object {
  const verb = verbs[index % verbs.length] ?? '';
  const noun = nouns[Math.floor(index / verbs.length) % nouns.length] ?? '';
  return {
    operationId: `${verb}_${noun}_${name}_${index}`,
    summary: `${verb} each ${noun} of ${name}, number ${index}`,
    parameters: [
      { name: 'place', in: 'query', required: true, description: `Where the ${noun} is`, schema: { type: 'string' } },
      { name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 100 } },
    ],
    responses: { 200: { description: 'Done.', content: { 'application/json': { schema: { type: 'object' } } } } },
  };
}

/** Connections to `count` servers with five operations each, whose documents they bring. */
export function smallServers(count: number): object[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `small${index}`,
    url: `http://127.0.0.1:9/${index}`,
    spec: documentOf(`small${index}`, 5),
  }));
}

/** A connection with one large document, which chats get only if they name it. */
export function largeServer(operations: number): object {
  return { id: 'large', url: 'http://127.0.0.1:9/large', spec: documentOf('large', operations), config: { default: false } };
}
