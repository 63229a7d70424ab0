import type { core, z } from 'zod';

/** zod's own way of validating without an answer. Its option is internal: `parse-to-first-issue.test.ts` says whether it still works. */
const untilFirst: core.ParseContextInternal<core.$ZodIssue> = { abortEarly: true };

/**
 * Parses up to the first issue, which is all that anybody is told: of half a million wrong entries of a list zod would describe each, in half a second.
 */
export function parseToFirstIssue<Output>(
  schema: z.ZodType<Output>,
  value: unknown,
): { data: Output } | { issue: core.$ZodIssue | undefined } {
  const parsed = schema.safeParse(value, untilFirst);
  return parsed.success ? { data: parsed.data } : { issue: parsed.error.issues[0] };
}
