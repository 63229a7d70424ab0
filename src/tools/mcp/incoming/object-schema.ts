import { isJsonObject, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';

/** The schema of a tool's arguments, which is an object whatever the server says: MCP sends arguments in no other form. */
export function toObjectSchema(schema: JsonValue | undefined): JsonObject {
  if (!isJsonObject(schema)) return { type: 'object' };
  const { properties, required, ...rest } = schema;
  return {
    ...rest,
    type: 'object',
    ...(isJsonObject(properties) && { properties }),
    ...(Array.isArray(required) && { required: required.filter((name) => typeof name === 'string') }),
  };
}
