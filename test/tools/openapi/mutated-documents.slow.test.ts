import { readdirSync, readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/shared/json/json.ts';
import { toProfile } from '../../../src/models/schema-profiles/to-profile.ts';
import { createRegisteredBudget } from '../../../src/tools/openapi/conversion-budget.ts';
import type { Conversion } from '../../../src/tools/definitions/operation.ts';
import { openDocument } from '../../../src/tools/openapi/load/open-document.ts';
import { parseDocument } from '../../../src/tools/openapi/document/parse-document.ts';

const folder = new URL('../../../openapi-fixtures/', import.meta.url);
const names = readdirSync(folder).filter((name) => !name.endsWith('.expected.json'));
const documents = names.map((name) => parseDocument(readFileSync(new URL(name, folder), 'utf8')));
const noFiles = (): Promise<never> => Promise.reject(new Error('none'));

/** Values that stand where something else belongs. */
const wrong = fc.oneof(
  fc.constantFrom<JsonValue>(null, true, 0, -1, 1e308, '', 'x', '#', '#/', '#/paths', '#/components/schemas', '__proto__', [], {}, [[]], {
    $ref: '#',
  }),
  fc.constantFrom<JsonValue>(
    { $ref: '#/components/schemas/A' },
    { $ref: 'x.json' },
    { allOf: [{ $ref: '#' }] },
    { type: ['null'] },
    { enum: [] },
    { nullable: true },
  ),
  fc.jsonValue({ maxDepth: 3 }),
);

/** One place of a document, by the numbers of the children on the way. */
function mutate(value: JsonValue, path: readonly number[], change: JsonValue | undefined): JsonValue | undefined {
  const [step, ...rest] = path;
  if (step === undefined || typeof value !== 'object' || value === null) return change;
  const entries = Object.entries(value);
  const at = entries.length === 0 ? undefined : entries[step % entries.length];
  if (at === undefined) return change;
  const changed = entries.map(
    ([key, child]) => [key, key === at[0] && child !== undefined ? mutate(child, rest, change) : (child as JsonValue)] as const,
  );
  return Array.isArray(value)
    ? changed.map(([, child]) => child ?? null)
    : Object.fromEntries(changed.filter(([, child]) => child !== undefined));
}

/** What became of a document, or the words of the refusal. Anything but an Error with words fails the test. */
async function open(source: JsonValue): Promise<{ conversion: Conversion; refusal: string }> {
  try {
    const { conversion } = await openDocument(
      { source: source as JsonObject, budget: createRegisteredBudget(), isChecked: false },
      noFiles,
    );
    return { conversion, refusal: '' };
  } catch (error) {
    const refusal = error instanceof Error && error.constructor === Error ? error.message : `a fault: ${String(error)}`;
    return { conversion: { operations: [], renamed: [], omitted: [], warnings: [] }, refusal };
  }
}

describe('a document with a wrong value anywhere', () => {
  it('is converted or refused with words, and each function that comes of it can be offered to anybody', async () => {
    const mutation = fc.record({
      document: fc.constantFrom(...documents),
      changes: fc.array(
        fc.record({ path: fc.array(fc.nat({ max: 50 }), { maxLength: 12 }), change: fc.option(wrong, { nil: undefined }) }),
        { minLength: 1, maxLength: 4 },
      ),
    });
    await fc.assert(
      fc.asyncProperty(mutation, async ({ document, changes }) => {
        const mutated = changes.reduce<JsonValue>((current, { path, change }) => mutate(current, path, change) ?? {}, document);
        const opened = await open(mutated);
        const { conversion, refusal } = opened;
        expect(refusal).toMatch(/^(?!a fault).*document|^$/);
        for (const { spec } of conversion.operations) {
          expect(spec.name).toMatch(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/);
          expect(spec.description.length).toBeLessThanOrEqual(1_024);
          for (const profile of ['openai', 'ollama', 'gemini', 'llama-cpp'] as const) toProfile(spec.parameters, profile);
        }
        for (const { reason } of conversion.omitted) expect(reason).not.toBe('');
        structuredClone(opened);
      }),
      { numRuns: 400 },
    );
  });
});
