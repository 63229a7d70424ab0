import type { z } from 'zod';
import { GatewayError, invalidField } from '../../../core/errors.ts';
import { limits } from '../../../core/limits.ts';
import { describeSchemaIssue } from '../../../shared/describe-schema-issue.ts';
import { isDeeperThan, isJsonObject, type JsonObject } from '../../../shared/json/json.ts';
import { parseToFirstIssue } from '../../../shared/parse-to-first-issue.ts';

/** Fields of a chat's body, known and unknown ones. */
export const chatFields = 256;

/**
 * To be called before a body is parsed: each field is looked at several times, and may go to the backend.
 * @throws GatewayError `invalid_request`
 */
export function requireBoundedBody(value: unknown, expected: string): JsonObject {
  if (!isJsonObject(value)) throw new GatewayError('invalid_request', `The body must be ${expected}.`);
  if (hasMoreKeys(value, chatFields)) throw new GatewayError('invalid_request', `The body has more than ${chatFields} fields.`);
  for (const key in value) {
    // OpenAPI documents are deeper than chats, and have their own limit.
    const levels = key === 'tool_servers' ? limits.documentDepth : limits.jsonDepth;
    if (isDeeperThan(value[key], levels)) throw invalidField(key, `nested deeper than ${levels} levels`);
  }
  return value;
}

/** `path`: of the value within the body. @throws GatewayError `invalid_request` with `param` set to the first field at fault */
export function parseFields<Output>(schema: z.ZodType<Output>, value: unknown, path?: string): Output {
  const parsed = parseToFirstIssue(schema, value);
  if ('data' in parsed) return parsed.data;
  const { issue } = parsed;
  const param = [...(path === undefined ? [] : [path]), ...(issue?.path ?? [])].join('.');
  const problem = describeSchemaIssue(issue);
  throw param === '' ? new GatewayError('invalid_request', `body: ${problem}`, { param }) : invalidField(param, problem);
}

/** Whether an object has more than `maxKeys` fields; stops counting there. */
export function hasMoreKeys(object: object, maxKeys: number): boolean {
  let keys = 0;
  for (const _key in object) {
    keys += 1;
    if (keys > maxKeys) return true;
  }
  return false;
}
