import type { z } from 'zod';
import { describeSchemaIssue } from '../shared/describe-schema-issue.ts';
import { parseToFirstIssue } from '../shared/parse-to-first-issue.ts';
import { GatewayError, invalidField } from '../core/errors.ts';

/**
 * Validates a body or query against a schema. `expected` completes "The body must be …", for a body that is no object at all.
 * @throws GatewayError `invalid_request` with `param` set to the first field at fault
 */
export function parseInput<Output>(schema: z.ZodType<Output>, value: unknown, expected = 'a JSON object'): Output {
  const parsed = parseToFirstIssue(schema, value);
  if ('data' in parsed) return parsed.data;
  const { issue } = parsed;
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
  const param = [...(issue?.path ?? []), ...unknown].join('.').slice(0, 200);
  if (param === '') throw new GatewayError('invalid_request', `The body must be ${expected}.`);
  throw invalidField(param, `${describeSchemaIssue(issue)}.`);
}
