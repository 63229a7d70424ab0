import { describe, expect, it } from 'vitest';
import type { ModelRequest } from '../../../../src/core/models/model.ts';
import type { JsonObject } from '../../../../src/shared/json/json.ts';
import { refused, repeatOf, strictBackend } from '../../../_support/strict-backend.ts';

function own(name: string, parameters: JsonObject | null, more: JsonObject = {}): JsonObject {
  return { type: 'function', function: { name, description: name, parameters, ...more } };
}

const dated: JsonObject = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  type: 'object',
  properties: {
    at: { type: 'string', pattern: String.raw`^(?=\d{4})`, description: 'When' },
    tags: { type: 'array' },
    n: { enum: [1, 2] },
  },
  required: ['at'],
};
const registered = { name: 'search', description: 'search', parameters: dated };
const schemasOf = ({ callerTools }: ModelRequest): JsonObject[] =>
  callerTools.map((entry) => (entry['function'] as JsonObject)['parameters'] as JsonObject);
const hasPattern = (request: ModelRequest, index = 0): boolean => JSON.stringify(schemasOf(request)[index]).includes('"pattern"');
const refusesPattern = (words: string) => (request: ModelRequest) =>
  schemasOf(request).some((_, index) => hasPattern(request, index)) ? words : undefined;

describe("the caller's functions", () => {
  it('are sent as they are where nothing refuses them', async () => {
    const { ask } = strictBackend(() => undefined, { profile: 'gemini' });
    const callerTools = [own('mail', dated), { type: 'web_search' }];
    expect((await ask({ callerTools })).requests.map((request) => request.callerTools)).toEqual([callerTools]);
  });

  it.each([
    'Failed to initialize samplers: failed to parse grammar',
    "JSON schema conversion failed:\nPattern must start with '^' and end with '$'",
    'Invalid tools: failed to compile grammar from JSON schema',
    "Invalid schema for function 'mail': pattern is not supported",
    'Invalid JSON payload received. Unknown name "$schema" at \'tools[0].function_declarations[0].parameters\': Cannot find field.',
    'json: cannot unmarshal array into Go struct field .tools.function.parameters.properties.items of type map[string]interface {}',
    'tools.0.function.parameters: Input should be a valid dictionary',
    'Unable to generate parser for this template. Automatic parser generation failed: \nJSON schema conversion failed:\nUnrecognized schema: "object"',
    'invalid params, invalid tool function parameters (2013)',
  ])('are offered in a simpler form after "%s", under their own names', async (words) => {
    const { ask } = strictBackend(refusesPattern(words));
    const { requests, warnings, error } = await ask({ callerTools: [own('mail', dated)] });
    expect({ count: requests.length, warnings, error }).toEqual({ count: 2, warnings: ['function_schema_refused'], error: undefined });
    expect(requests[1]?.callerTools).toEqual([
      own('mail', {
        type: 'object',
        properties: {
          at: { type: 'string', description: String.raw`When Pattern: ^(?=\d{4})` },
          tags: { type: 'array', items: { type: 'string' } },
          n: { type: 'integer', description: 'One of: 1, 2.' },
        },
        required: ['at'],
      }),
    ]);
  });

  it.each(['llama-cpp', 'ollama', 'gemini'] as const)('of a backend with the profile %s are converted to it first', async (profile) => {
    const { ask } = strictBackend(refusesPattern('failed to parse grammar'), { profile });
    const { requests } = await ask({ callerTools: [own('mail', dated)] });
    expect(requests.map((request) => hasPattern(request))).toEqual([true, false]);
    const { properties } = schemasOf(repeatOf(requests))[0] ?? {};
    expect((properties as JsonObject)['n']).toEqual(
      profile === 'gemini' ? { type: 'integer', description: 'One of: 1, 2.' } : { enum: [1, 2] },
    );
  });

  it('are simplified where their profile does not help', async () => {
    const { ask } = strictBackend(
      (request) => (JSON.stringify(schemasOf(request)).includes('"format":"date"') ? 'failed to parse grammar' : undefined),
      { profile: 'llama-cpp' },
    );
    const parameters = { type: 'object', properties: { at: { type: 'string', format: 'date' } } };
    expect((await ask({ callerTools: [own('mail', parameters)] })).requests).toHaveLength(3);
  });

  it('are converted from the start where the operator has stated the profile', async () => {
    const { ask } = strictBackend(() => undefined, { profile: 'llama-cpp', isProfileStated: true });
    const { requests, warnings } = await ask({ callerTools: [own('mail', dated)] });
    expect({ patterns: requests.map((request) => hasPattern(request)), warnings }).toEqual({ patterns: [false], warnings: [] });
  });

  it.each(['plain', 'openai'] as const)('keep their own strictness where the stated profile is %s', async (profile) => {
    const { ask } = strictBackend(() => undefined, { profile, isProfileStated: true });
    const callerTools = [own('mail', dated, { strict: true })];
    expect((await ask({ callerTools })).requests[0]?.callerTools).toEqual(callerTools);
  });

  it.each([
    'Tools with strict=True are not supported by this model',
    "Tools with mixed values for 'strict' are not allowed. Please set all tools to 'strict: true' or 'strict: false'",
  ])('lose only the strict form after "%s"', async (words) => {
    const { ask } = strictBackend(({ callerTools }) => (JSON.stringify(callerTools).includes('"strict"') ? words : undefined));
    const { requests } = await ask({ callerTools: [own('mail', dated, { strict: true }), own('post', dated)] });
    expect(requests[1]?.callerTools).toEqual([own('mail', dated), own('post', dated)]);
  });

  it('lose only the strict form where that is what is refused', async () => {
    const { ask } = strictBackend(
      ({ callerTools }) =>
        JSON.stringify(callerTools).includes('"strict"')
          ? "Invalid schema for function 'mail': 'required' is required to be supplied and to be an array including every key in properties."
          : undefined,
      { profile: 'openai' },
    );
    const { requests } = await ask({ callerTools: [own('mail', dated, { strict: true })] });
    expect(requests[1]?.callerTools).toEqual([own('mail', dated)]);
  });

  it.each([null, {}])('get an object without properties where they have %j as parameters', async (parameters) => {
    const words = "Invalid schema for function 'now': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'.";
    const { ask } = strictBackend((request) => (schemasOf(request)[0]?.['type'] === 'object' ? undefined : words));
    const { requests } = await ask({ callerTools: [own('now', parameters)] });
    expect(requests).toHaveLength(2);
    expect(schemasOf(repeatOf(requests))).toEqual([expect.objectContaining({ type: 'object' })]);
  });

  it('that are not named keep their schemas', async () => {
    const callerTools = [own('first', dated), own('second', dated)];
    const { ask } = strictBackend((request) => (hasPattern(request, 1) ? "Invalid schema for function 'second'" : undefined));
    const { requests } = await ask({ callerTools });
    expect(requests).toHaveLength(2);
    expect(schemasOf(repeatOf(requests))[0]).toEqual(dated);
  });

  it('are changed for the caller alone, in the next requests with the same ones', async () => {
    const { ask } = strictBackend(refusesPattern('failed to parse grammar'));
    const callerTools = [own('mail', dated)];
    await ask({ callerTools }, 'ada');
    expect(await ask({ callerTools }, 'ada')).toMatchObject({ requests: [{}], warnings: ['function_schema_refused'] });
    expect((await ask({ callerTools }, 'bob')).requests).toHaveLength(2);
    expect((await ask({ callerTools: [own('mail', { type: 'object', properties: {} })] }, 'ada')).warnings).toEqual([]);
  });

  it('are changed before those of the gateway, which are then left as they are', async () => {
    const { ask } = strictBackend(refusesPattern('failed to parse grammar'));
    const { requests } = await ask({ tools: [registered], callerTools: [own('mail', dated)] });
    expect(requests.map(({ tools }) => tools)).toEqual([[registered], [registered]]);
  });

  it('stay where a function of the gateway is named', async () => {
    const { ask } = strictBackend(({ tools }) =>
      JSON.stringify(tools).includes('"pattern"') ? "Invalid schema for function 'search'" : undefined,
    );
    const callerTools = [own('mail', dated)];
    const { requests } = await ask({ tools: [registered], callerTools });
    expect(requests.map((request) => request.callerTools)).toEqual([callerTools, callerTools]);
  });

  it.each([
    'The context is too long',
    'Failed to parse input at pos 12: {"name": "mail"',
    "messages[0]: invalid schema for function 'mail'",
    "Invalid schema for response_format 'mail'",
  ])('are not what "%s" is about', async (words) => {
    const { ask } = strictBackend(() => words);
    expect((await ask({ callerTools: [own('mail', dated)] })).requests).toHaveLength(1);
  });

  it('that nothing can help are refused after a few requests', async () => {
    const { ask } = strictBackend(() => refused("Invalid schema for function 'mail'"), { profile: 'llama-cpp' });
    const { requests, error } = await ask({ callerTools: [own('mail', dated), own('other', dated)] });
    expect(error).toMatchObject({ code: 'upstream_rejected' });
    expect(requests.length).toBeLessThanOrEqual(6);
  });
});
