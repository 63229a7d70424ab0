import { documentChainKey } from '../../core/tools/gateway-chain.ts';
import type { ListedTool } from '../../core/tools/tool.ts';
import { isJsonObject } from '../../shared/json.ts';
import type { JsonObject } from '../../shared/json.ts';
import { moveSchema } from './movable-schema.ts';

const failures: Readonly<Record<number, string>> = {
  400: 'The arguments do not fit.',
  404: 'There is no such function.',
  409: 'It needs an approval, and nobody can be asked here.',
  502: 'It failed.',
  504: 'It took too long.',
};

const failureSchema: JsonObject = {
  type: 'object',
  properties: {
    error: {
      type: 'object',
      properties: { code: { type: 'string' }, message: { type: 'string' } },
      required: ['code', 'message'],
    },
  },
  required: ['error'],
};

/**
 * The functions as operations of an OpenAPI 3.1 document, each with a path of its own. Operations and components are built when they are read, in this
 * order: a schema that refers to its parts becomes a component, because many clients find references there alone.
 */
export function toToolDocument(listed: readonly ListedTool[], { version, gatewayId }: { version: string; gatewayId: string }): JsonObject {
  const components = new Map<string, JsonObject>();

  /** @param name unique among the components, and no name of a definition: Open WebUI takes a second reference of one last name for a circle */
  function placed(schema: JsonObject, name: string): JsonObject {
    const place = `#/components/schemas/${name}`;
    const moved = moveSchema(schema, place);
    if (!moved.isReferring) return moved.schema;
    components.set(name, moved.schema);
    return { $ref: place };
  }

  function toOperation(tool: ListedTool): JsonObject {
    const { name, description, server, parameters, output, hints } = tool;
    const { required } = parameters;
    return {
      operationId: name,
      description,
      tags: [server],
      ...(takesArguments(parameters) && {
        requestBody: {
          required: Array.isArray(required) && required.length > 0,
          // The root of a function's schema is an object (`ToolSpec`).
          content: { 'application/json': { schema: placed({ ...parameters, type: 'object' }, `${name}.arguments`) } },
        },
      }),
      responses: {
        200: {
          description: 'The result.',
          content: { 'application/json': { schema: output === undefined ? {} : placed(output, `${name}.result`) } },
        },
        ...Object.fromEntries(Object.keys(failures).map((status) => [status, { $ref: `#/components/responses/${status}` }])),
      },
      [documentChainKey]: [gatewayId, ...hints.gateways],
    };
  }

  return {
    openapi: '3.1.0',
    info: { title: 'toolwharf', description: 'Every function that your key may use.', version },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }],
    paths: Object.fromEntries(
      listed.map((tool) => [
        `/api/tools/${tool.name}/call`,
        {
          get post() {
            return toOperation(tool);
          },
        },
      ]),
    ),
    get components() {
      const content = { 'application/json': { schema: failureSchema } };
      return {
        securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
        responses: Object.fromEntries(Object.entries(failures).map(([status, description]) => [status, { description, content }])),
        schemas: Object.fromEntries(components),
      };
    },
  };
}

/** Keywords of a root that allow no argument by themselves. */
const emptyKeywords = new Set(['$schema', '$id', 'title', 'description', 'type', 'required']);

/** Open WebUI does not call an operation with a body when it has no argument for it. */
function takesArguments(parameters: JsonObject): boolean {
  return Object.entries(parameters).some(([keyword, value]) => {
    if (keyword === 'properties') return isJsonObject(value) && Object.keys(value).length > 0;
    return !emptyKeywords.has(keyword) && value !== false && value !== undefined;
  });
}
