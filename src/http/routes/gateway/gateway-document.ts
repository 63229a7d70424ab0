import { setImmediate as nextTick } from 'node:timers/promises';
import { isJsonObject, type JsonObject } from '../../../shared/json/json.ts';
import { statusPhrases } from '../../../shared/status-phrases.ts';
import { isCountedRoute } from '../../auth/limit-callers.ts';
import { findAccess, type Access } from '../../auth/route-roles.ts';
import { describedRoutes, type StoredSchemas } from './described-routes.ts';
import { tags, type AnswerDescription, type RouteDescription } from '../../description/route-description.ts';
import { errorShape } from '../../description/shared-schemas.ts';
import { describeFields, toJsonSchema } from '../../description/to-json-schema.ts';

export interface DocumentOptions {
  version: string;
  schemas: StoredSchemas;
}

type Components = Map<string, JsonObject>;

const about =
  'A self-hosted gateway that gives any chat model tools. A key is sent as `Authorization: Bearer`, as `x-api-key`, or as the password of Basic ' +
  'authentication. On a loopback address and as long as there is no key, chats and reading need none.';

/** Keys are taken in each of these ways. */
const securitySchemes: JsonObject = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'A key of the gateway, `sk-tw-…`, or a token of the OpenID provider that it is configured for.',
  },
  apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
  basic: { type: 'http', scheme: 'basic', description: 'The key is the password; the user name is ignored.' },
};
const withKey = Object.keys(securitySchemes).map((name) => ({ [name]: [] }));

const who: Readonly<Record<Access, string | undefined>> = {
  public: undefined,
  socket: undefined,
  user: undefined,
  'admin-read': 'For administrators.',
  'admin-change': 'For administrators.',
  metrics: 'For administrators, and with `METRICS_KEY`.',
  nobody: undefined,
};

/** The OpenAPI document of the gateway. Between routes others have their turn: making it takes some dozen milliseconds. */
export async function makeGatewayDocument({ version, schemas }: DocumentOptions): Promise<JsonObject> {
  const components: Components = new Map();
  const paths: Record<string, JsonObject> = {};
  for (const [route, description] of Object.entries<RouteDescription>(describedRoutes(schemas))) {
    const { method, path, operation } = describeRoute(route, description, components);
    paths[path] = { ...paths[path], [method]: operation };
    await nextTick();
  }
  const error = { 'application/json': { schema: toJsonSchema(errorShape, components) } };
  return {
    openapi: '3.1.0',
    info: { title: 'toolwharf', version, description: about, license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url: '/' }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: Object.fromEntries([...components].toSorted(([one], [other]) => (one < other ? -1 : 1))),
      responses: { Error: { description: 'What is wrong, and what to do about it.', content: error } },
      securitySchemes,
    },
  };
}

function describeRoute(
  route: string,
  description: RouteDescription,
  components: Components,
): { method: string; path: string; operation: JsonObject } {
  const [method = '', url = ''] = route.split(' ', 2);
  const path = (description.path ?? url).replaceAll(/:(\w+)/g, '{$1}');
  const access = findAccess(method, url) ?? 'admin-change';
  const { tag, summary, body, aliasOf } = description;
  const alias = aliasOf === undefined ? undefined : `The same as \`${aliasOf}\`.`;
  const text = [description.description, alias, who[access]].filter((part) => part !== undefined).join(' ');
  const parameters = [...pathParameters(path, description), ...queryParameters(description, components), ...headerParameters(description)];
  const operation = {
    tags: [tag],
    operationId: operationIdOf(method, path),
    summary,
    ...(text !== '' && { description: text }),
    ...(aliasOf !== undefined && { 'x-alias-of': aliasOf }),
    security: access === 'public' ? [] : withKey,
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && {
      requestBody: {
        required: body.isOptional !== true,
        content: {
          [body.type ?? 'application/json']: {
            schema: fieldsDescribed(toJsonSchema(body.schema, components), body.fields),
            ...(body.example !== undefined && { example: body.example }),
          },
        },
      },
    }),
    responses: { ...answersOf(description.answers, components), ...errorsOf(route, { path, access, description }, components) },
  };
  return { method: method.toLowerCase(), path, operation };
}

/** `GET /v1/models/{id}` → `get_v1_models_id`. */
function operationIdOf(method: string, path: string): string {
  const words = path.split(/[^A-Za-z\d]+/).filter((word) => word !== '');
  return [method.toLowerCase(), ...words].join('_');
}

function pathParameters(path: string, { params = {} }: RouteDescription): JsonObject[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    description: params[name] ?? '',
    schema: { type: 'string' },
  }));
}

function queryParameters({ query }: RouteDescription, components: Components): JsonObject[] {
  if (query === undefined) return [];
  const schema = fieldsDescribed(toJsonSchema(query.schema, components), query.fields);
  const { properties } = schema;
  const checked = Object.entries(isJsonObject(properties) ? properties : {}).map(([name, property]) => {
    const { description = '', ...rest } = isJsonObject(property) ? property : {};
    return { name, in: 'query', required: false, description, schema: rest };
  });
  const maps = Object.entries(query.maps ?? {}).map(([name, description]) => ({
    name,
    in: 'query',
    required: false,
    description,
    style: 'deepObject',
    explode: true,
    schema: { type: 'object', additionalProperties: { type: 'string' } },
  }));
  return [...checked, ...maps];
}

function headerParameters({ headers = {} }: RouteDescription): JsonObject[] {
  return Object.entries(headers).map(([name, description]) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
  }));
}

function fieldsDescribed(schema: JsonObject, fields: Readonly<Record<string, string>> = {}): JsonObject {
  describeFields(schema, fields);
  return schema;
}

function answersOf(answers: Readonly<Record<number, AnswerDescription>>, components: Components): JsonObject {
  return Object.fromEntries(
    Object.entries(answers).map(([status, { about: description, content }]) => {
      if (content === undefined) return [status, { description }];
      const types = Object.entries(content).map(([type, schema]) => [type, { schema: toJsonSchema(schema, components) }] as const);
      return [status, { description, content: Object.fromEntries(types) }];
    }),
  );
}

/** The errors that a route can have for what it takes and who may call it; any other one is the `default`. */
function errorsOf(
  route: string,
  { path, access, description }: { path: string; access: Access; description: RouteDescription },
  components: Components,
): JsonObject {
  const [method = '', url = ''] = route.split(' ', 2);
  const isKeyed = access !== 'public';
  const statuses = [
    ...(description.body !== undefined || description.query !== undefined ? [400] : []),
    ...(isKeyed ? [401] : []),
    ...(isKeyed && access !== 'user' && access !== 'socket' ? [403] : []),
    ...(path.includes('{') ? [404] : []),
    ...(isCountedRoute(method, url) ? [429] : []),
  ].filter((status) => !(status in description.answers));
  const { errors } = description;
  const errorOf = (status: number | undefined): JsonObject =>
    errors === undefined
      ? { $ref: '#/components/responses/Error' }
      : {
          description: status === undefined ? 'Any other error.' : (statusPhrases[status] ?? ''),
          content: { 'application/json': { schema: toJsonSchema(errors, components) } },
        };
  return { ...Object.fromEntries(statuses.map((status) => [status, errorOf(status)])), default: errorOf(undefined) };
}
