import { documentChainKey } from '../../core/tools/gateway-chain.ts';
import type { ListedTool } from '../../core/tools/tool.ts';
import { isJsonObject, type JsonObject } from '../../shared/json/json.ts';
import { createListedTexts } from '../listed-texts.ts';
import { moveSchema } from './movable-schema.ts';

const failures: Readonly<Record<string, string>> = {
  400: 'The arguments do not fit, or the API behind the function rejects them.',
  401: 'The key is missing or not valid.',
  403: 'The key or a rule does not permit the call.',
  404: 'There is no such function.',
  409: 'The call needs an approval that cannot be requested here.',
  429: 'The key has reached a limit.',
  502: 'It failed.',
  504: 'It took too long.',
  default: 'Any other error.',
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
 * Writes the functions as an OpenAPI 3.1 document, each as an operation with a path of its own: JSON in pieces. `address`: of the gateway; absent: that of
 * the document, to which some clients do not relate `/`.
 */
export function createToolDocument({
  version,
  gatewayId,
}: {
  version: string;
  gatewayId: string;
}): (listed: readonly ListedTool[], address?: string) => Promise<Uint8Array[]> {
  const texts = createListedTexts(['paths', 'schemas'], (tool) =>
    // Who reads this document gives the functions to a model.
    tool.isForApps === true ? { paths: '', schemas: '' } : toTexts(tool, gatewayId),
  );
  const head = opened({
    openapi: '3.1.0',
    info: { title: 'toolwharf', description: 'Every function that your key may use.', version },
    security: [{ bearer: [] }],
  });
  const content = { 'application/json': { schema: failureSchema } };
  const components = opened({
    securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    responses: Object.fromEntries(Object.entries(failures).map(([status, description]) => [status, { description, content }])),
  });
  return async (listed, address = '/') => {
    const { paths, schemas } = await texts.of(listed);
    const before = Buffer.from(`${head},"servers":${JSON.stringify([{ url: address }])},"paths":{`);
    const between = Buffer.from(`},"components":${components},"schemas":{`);
    return [before, paths.part(), between, schemas.part(), Buffer.from('}}}')];
  };
}

/** JSON of an object to which further members are added. */
function opened(value: JsonObject): string {
  return JSON.stringify(value).slice(0, -1);
}

/**
 * JSON of a function as a member of the paths, and as members of the components, if there are any: a schema that refers to its parts becomes a component,
 * because many clients find references there alone.
 */
function toTexts(tool: ListedTool, gatewayId: string): { paths: string; schemas: string } {
  const { name, description, server, parameters, output, hints } = tool;
  const components: JsonObject = {};

  /** @param component unique among the components, and no name of a definition: Open WebUI takes a second reference of one last name for a circle */
  function placed(schema: JsonObject, component: string): JsonObject {
    const place = `#/components/schemas/${component}`;
    const moved = moveSchema(schema, place);
    if (!moved.isReferring) return moved.schema;
    components[component] = moved.schema;
    return { $ref: place };
  }

  const { required } = parameters;
  const operation: JsonObject = {
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
  const path = JSON.stringify(`/api/tools/${name}/call`);
  return { paths: `${path}:${JSON.stringify({ post: operation })}`, schemas: JSON.stringify(components).slice(1, -1) };
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
