import type { z } from 'zod';
import { GatewayError, invalidField } from '../core/errors.ts';
import { describeSchemaIssue } from '../shared/describe-schema-issue.ts';
import { parseToFirstIssue } from '../shared/parse-to-first-issue.ts';

/** Validates user input. `path` is where the value is in the request body or file. @throws GatewayError `invalid_request`, see `invalidAt` */
export function parseRecord<Value>(schema: z.ZodType<Value>, value: unknown, path: readonly PropertyKey[] = []): Value {
  const parsed = parseToFirstIssue(schema, value);
  if ('data' in parsed) return parsed.data;
  const { issue } = parsed;
  throw invalidAt([...path, ...(issue?.path ?? [])], describeSchemaIssue(issue));
}

/** Names the field in the message and as `param`, but never repeats its value, which may be a secret. */
export function invalidAt(path: readonly PropertyKey[], problem: string): GatewayError {
  const param = path.join('.');
  if (param === '') return new GatewayError('invalid_request', `the value ${problem}`);
  return invalidField(param, problem);
}

/** The fields that are set: HTML forms send `null` or an empty string for "not set". */
export function filledFields<Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields]?: Exclude<Fields[Name], null | undefined | ''> } {
  const filled = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null && value !== '');
  return Object.fromEntries(filled) as ReturnType<typeof filledFields<Fields>>;
}
