import { expect, it } from 'vitest';
import { narrowParameters, toStrict } from '../../src/chat/modes/prompt/narrow-schema.ts';
import type { JsonObject } from '../../src/shared/json/json.ts';
import { fitGrammar } from '../../src/models/ollama/fit-grammar.ts';
import { simplifyParameters } from '../../src/models/schema-profiles/simplify-parameters.ts';
import { toProfile } from '../../src/models/schema-profiles/to-profile.ts';

/** What writes out the schema of a function or of an answer for a backend. */
type Conversion = [string, (schema: JsonObject) => unknown];
const profiles: Conversion[] = (['ollama', 'gemini', 'llama-cpp'] as const).map((profile) => [
  `the profile ${profile}`,
  (schema) => toProfile(schema, profile),
]);
const conversions: Conversion[] = [
  ['the form of a selection', (schema) => toStrict(narrowParameters(schema))],
  ['the grammar of Ollama', fitGrammar],
  ...profiles,
  ['the simple form', simplifyParameters],
];
/** Far above what a model's context takes, far below what a hundred references to a large definition make. */
const mostCharacters = 400_000;

function fieldsOf(count: number, child: (index: number) => JsonObject): JsonObject {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`field${index}`, child(index)]));
}

/** Counts how often the names of its fields are gone through. */
function watched(fields: JsonObject): { fields: JsonObject; passes: () => number } {
  let passes = 0;
  const proxy = new Proxy(fields, {
    ownKeys(target) {
      passes += 1;
      return Reflect.ownKeys(target);
    },
  });
  return { fields: proxy, passes: () => passes };
}

it.each(conversions)('thousands of references to a large definition cost %s as much as a few', (_what, convert) => {
  const { fields, passes } = watched({ type: 'string', ...fieldsOf(7_000, () => ({})) });
  const written = convert({ type: 'object', properties: fieldsOf(3_000, () => ({ $ref: '#/$defs/Large' })), $defs: { Large: fields } });
  expect(passes()).toBeLessThan(30);
  expect(JSON.stringify(written ?? {}).length).toBeLessThan(mostCharacters);
});

it.each(conversions)('a small definition is written out at each reference: %s', (_what, convert) => {
  const { fields, passes } = watched(fieldsOf(2, () => ({ type: 'string' })));
  const small = { type: 'object', properties: fields, required: ['field0', 'field1'], additionalProperties: false };
  const written = convert({ type: 'object', properties: fieldsOf(40, () => ({ $ref: '#/$defs/Small' })), $defs: { Small: small } });
  expect(passes()).toBeGreaterThan(0);
  expect(JSON.stringify(written)).toContain('field1');
});

it.each(conversions)('a long text is written out a few times only: %s', (_what, convert) => {
  const text = 'words '.repeat(20_000);
  const choice = { type: 'string', description: text, enum: [text] };
  const written = convert({ type: 'object', properties: fieldsOf(300, () => ({ $ref: '#/$defs/Choice' })), $defs: { Choice: choice } });
  expect(JSON.stringify(written ?? {}).length).toBeLessThan(mostCharacters);
});

it.each(profiles)('a long chain of references is not followed to its end: %s', (_what, convert) => {
  const chain = fieldsOf(3_000, (index) => ({ $ref: `#/$defs/field${index + 1}` }));
  let hops = 0;
  const $defs = new Proxy(chain, {
    get(target, name) {
      hops += 1;
      return Reflect.get(target, name) as unknown;
    },
  });
  convert({ type: 'object', properties: { a: { $ref: '#/$defs/field0' } }, $defs });
  expect(hops).toBeGreaterThan(0);
  expect(hops).toBeLessThan(100);
});
