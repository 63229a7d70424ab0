import type { CallToolResult, JsonSchemaValidator, jsonSchemaValidator, Tool as McpDefinition } from '@modelcontextprotocol/client';
import { isDeeperThan, isJsonObject } from '../../shared/json.ts';
import type { JsonValue } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';
import { checkValue, type CheckingFor } from '../../validation/check-value.ts';

/** For the SDK, which checks results without waiting: it lets all of them pass, and `structuredFaults` checks them afterwards. */
export const passingValidator: jsonSchemaValidator = {
  getValidator<T>(): JsonSchemaValidator<T> {
    return (value) => ({ valid: true, data: value as T, errorMessage: undefined });
  },
};

/**
 * How a structured result differs from the output schema of its tool, a sentence each; empty where it fits. What is too deep is not checked, nor
 * what takes too long: schema and result are the same server's. @throws the signal's reason
 */
export async function structuredFaults(
  { structuredContent, isError }: CallToolResult,
  { outputSchema }: McpDefinition,
  checkingFor: CheckingFor,
): Promise<string[]> {
  if (!isJsonObject(outputSchema) || structuredContent === undefined || isError === true) return [];
  if (isDeeperThan(outputSchema, limits.jsonDepth) || isDeeperThan(structuredContent, limits.jsonDepth)) return [];
  const check = await checkValue(structuredContent as JsonValue, outputSchema, checkingFor);
  return check.type === 'faulty' ? check.errors : [];
}
