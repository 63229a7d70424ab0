import { expectTypeOf } from 'expect-type';
import { defineTool, defineToolset, handoff, noReply, ToolError, withFiles } from 'toolwharf';
import type { FunctionContext, FunctionTool, JsonObject, JsonValue, ToolDefinition, Toolset } from 'toolwharf';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

const sound = { name: 'f', description: 'Does it', parameters: z.object({}), execute: () => 1 };
const define = (fields: object): FunctionTool => defineTool({ ...sound, ...fields });

describe('a definition that is an instance of a class', () => {
  const calledBy = (tool: FunctionTool): unknown => tool.options.execute({}, {} as FunctionContext);

  it('has its inherited and private members, whatever other fields it has [S0-9]', async () => {
    abstract class Query {
      description = 'Asks the database';
      parameters = { type: 'object' as const, properties: {} };
      timeoutMs = 2_000;
      connection: { rows: string[] };
      constructor(connection: { rows: string[] }) {
        this.connection = connection;
      }
      execute(): unknown {
        return this.find();
      }
      protected abstract find(): unknown;
    }
    class AllRows extends Query {
      #column = 'row';
      get name(): string {
        return `all_${this.#column}s`;
      }
      needsApproval(): boolean {
        return this.connection.rows.length > 1;
      }
      protected find(): unknown {
        return this.connection.rows.map((row) => `${this.#column} ${row}`);
      }
    }
    const tool = defineTool(new AllRows({ rows: ['a', 'b'] }));
    expect(tool).toMatchObject({ name: 'all_rows', description: 'Asks the database', options: { timeoutMs: 2_000 } });
    expect(calledBy(tool)).toEqual(['row a', 'row b']);
    const { needsApproval } = tool.options;
    expect(typeof needsApproval === 'function' && (await needsApproval({}, {} as FunctionContext))).toBe(true);
    const set = defineToolset(
      new (class {
        id = 'database';
        tools = [tool];
        state = 'closed';
        setup(): string {
          return (this.state = 'open');
        }
      })(),
    );
    expect([set.id, set.tools, set.setup?.()]).toEqual(['database', [tool], 'open']);
  });

  it('is told what is wrong with it', () => {
    class Nameless {
      description = 'Does it';
      parameters = z.object({});
      execute = (): number => 1;
    }
    expect(() => defineTool(new Nameless() as unknown as ToolDefinition)).toThrow(/^defineTool without a name: name is missing/);
  });

  it('and a plain object may use `this` as well', () => {
    const definition = {
      ...sound,
      execute(this: { description: string }) {
        return this.description;
      },
    };
    expect(calledBy(defineTool(definition as unknown as ToolDefinition))).toBe('Does it');
  });
});

describe('a definition that cannot work', () => {
  it.each<[string, object, RegExp]>([
    ['no name', { name: undefined }, /^defineTool without a name: name is missing; give it one/],
    ['an illegal name', { name: 'get weather' }, /^defineTool "get weather": name must consist of/],
    ['a name too long', { name: 'x'.repeat(65) }, /name must consist of 1 to 64/],
    ['no description', { description: ' ' }, /^defineTool "f": description is missing; say what it does/],
    ['no function', { execute: 'x' }, /^defineTool "f": execute is missing/],
    ['no parameters', { parameters: undefined }, /^defineTool "f": parameters is missing; .*z\.object\(\{\}\) for no parameters/],
    ['a root that is no object', { parameters: z.string() }, /^defineTool "f": parameters: the root is not an object; write z\.object/],
    ['a JSON Schema whose root is no object', { parameters: { type: 'array' } }, /the root is not an object/],
    [
      'what JSON cannot hold',
      { parameters: z.object({ at: z.date() }) },
      /^defineTool "f": parameters: .*; use a type that JSON can represent/,
    ],
    [
      'a reference that leads nowhere',
      { parameters: { type: 'object', properties: { a: { $ref: '#/$defs/b' } } } },
      /properties\.a: \$ref "#\/\$defs\/b" does not resolve; write/,
    ],
    ['a reference to another document', { parameters: { type: 'object', properties: { a: { $ref: 'b.json' } } } }, /does not resolve/],
    [
      'a type that is none',
      { parameters: { type: 'object', properties: { a: { items: { type: 'text' } } } } },
      /properties\.a\.items: type "text" is unknown; the types are string/,
    ],
    ['a list of properties', { parameters: { type: 'object', properties: ['a'] } }, /properties must be an object/],
    [
      'required as it is in OpenAPI 2',
      { parameters: { type: 'object', properties: { a: { type: 'string', required: true } } } },
      /properties\.a: required must be a list/,
    ],
    [
      'a pattern that is none',
      { parameters: { type: 'object', properties: { a: { pattern: '(' } } } },
      /pattern "\(" is not a regular expression/,
    ],
    ['a schema that is a list', { parameters: { type: 'object', anyOf: [[]] } }, /anyOf\.0 is not a schema, but a list/],
    ['what zod only checks by itself', { parameters: z.object({ at: z.instanceof(Map) }) }, /custom cannot be represented in JSON/],
    ['a schema of zod 3', { parameters: { _def: {} } }, /zod 3 schema; import z from "zod"/],
    ['an option that does not exist', { isEnabeld: true }, /^defineTool "f": "isEnabeld" is not an option; the options are name,/],
    ['a time limit of zero', { timeoutMs: 0 }, /timeoutMs must be a number of milliseconds above zero; leave it out/],
    ['a time limit beyond timers', { timeoutMs: 1e12 }, /timeoutMs/],
    ['another behaviour', { timeoutBehavior: 'retry' }, /timeoutBehavior must be "result" or "abort"/],
    ['another reaction', { onError: 'retry' }, /onError must be "result", "abort" or a function/],
    ['a flag that is none', { sequential: 'yes' }, /sequential must be true or false/],
    ['a condition that is none', { isEnabled: 'yes' }, /isEnabled must be true, false or a function/],
    ['guardrails that are no list', { inputGuardrails: () => undefined }, /inputGuardrails must be a list of functions/],
  ])('fails when its module is loaded, with an error that names it and the cure: %s', (_, fields, expected) => {
    expect(() => define(fields)).toThrow(expected);
  });

  it('names itself and the cure [S2-3]', () => {
    expect(() => define({ name: undefined })).toThrow('defineTool without a name: name is missing; give it one, such as "get_weather".');
    expect(() => define({ name: '1st' })).toThrow(/^defineTool "1st": name must consist of 1 to 64 letters/);
    expect(() => define({ parameters: z.array(z.string()) })).toThrow(
      /^defineTool "f": parameters: the root is not an object; write z\.object\(\{ … \}\)/,
    );
  });

  it('is one that is no object [S2-3]', () => {
    expect(() => defineTool(undefined as unknown as ToolDefinition)).toThrow(/^defineTool without a name: pass an object/);
  });
});

describe('the schema of a definition', () => {
  it('holds what zod says of a single parameter, and requires neither what is optional nor what has a default [S0-6]', () => {
    const parameters = z.object({
      city: z.string().describe('English name'),
      days: z.int().min(1).max(9).default(3),
      unit: z.enum(['c', 'f']).optional(),
    });
    expect(define({ parameters }).parameters).toEqual({
      type: 'object',
      properties: {
        city: { type: 'string', description: 'English name' },
        days: { type: 'integer', minimum: 1, maximum: 9, default: 3 },
        unit: { type: 'string', enum: ['c', 'f'] },
      },
      required: ['city'],
    });
  });

  it('is JSON Schema as it was written, whatever becomes of the original [S0-8, S3-13]', () => {
    const parameters = { type: 'object', properties: { a: { type: 'string', pattern: '^x', 'x-own': 1 } }, additionalProperties: false };
    const { parameters: schema } = define({ parameters });
    parameters.properties.a.pattern = 'changed';
    expect(schema).toEqual({
      type: 'object',
      properties: { a: { type: 'string', pattern: '^x', 'x-own': 1 } },
      additionalProperties: false,
    });
  });

  it.each<[string, object, JsonObject, unknown]>([
    [
      'zod',
      { parameters: z.object({ n: z.number().default(3), at: z.string().transform((text) => text.length) }) },
      { at: 'ab' },
      { n: 3, at: 2 },
    ],
    [
      'JSON Schema',
      {
        parameters: {
          type: 'object',
          properties: { n: { default: 3 }, o: { type: 'object', properties: { m: { default: [1] } } }, p: {} },
        },
      },
      { o: {} },
      { n: 3, o: { m: [1] } },
    ],
    ['JSON Schema without defaults', { parameters: { type: 'object', properties: { n: {} } } }, { n: 1 }, { n: 1 }],
  ])('fills in defaults: %s', async (_, fields, args, expected) => {
    expect(await define(fields).readArguments(args)).toEqual({ type: 'read', value: expected });
  });

  it.each<[name: string, parameters: JsonObject | z.ZodType, schema: JsonObject]>([
    ['nothing at all', {}, { type: 'object', properties: {} }],
    ['properties without a type', { properties: { a: {} } }, { type: 'object', properties: { a: {} } }],
    [
      'a reference within, also to the root',
      { type: 'object', $defs: { 'a/b': {} }, properties: { a: { $ref: '#/$defs/a~1b' }, b: { $ref: '#' } } },
      { type: 'object', $defs: { 'a/b': {} }, properties: { a: { $ref: '#/$defs/a~1b' }, b: { $ref: '#' } } },
    ],
    [
      'a property that is called as a keyword',
      { type: 'object', properties: { type: { type: 'string' }, required: { type: 'boolean' }, $ref: { type: 'string' } } },
      { type: 'object', properties: { type: { type: 'string' }, required: { type: 'boolean' }, $ref: { type: 'string' } } },
    ],
    [
      'a date, which is written as a text',
      z.object({ at: z.coerce.date() }),
      { type: 'object', properties: { at: { type: 'string', format: 'date-time' } }, required: ['at'] },
    ],
    [
      'a format, without the pattern that zod has for it',
      z.object({ mail: z.email(), own: z.string().regex(/^a+$/) }),
      {
        type: 'object',
        properties: { mail: { type: 'string', format: 'email' }, own: { type: 'string', pattern: '^a+$' } },
        required: ['mail', 'own'],
      },
    ],
  ])('takes %s', (_name, parameters, schema) => {
    expect(define({ parameters }).parameters).toEqual(schema);
  });

  it('makes a date of a text, and checks a format by zod', async () => {
    const { readArguments } = define({ parameters: z.object({ at: z.coerce.date(), mail: z.email().optional() }) });
    expect(await readArguments({ at: '2020-01-01' })).toEqual({ type: 'read', value: { at: new Date('2020-01-01') } });
    expect(await readArguments({ at: '2020-01-01', mail: 'nobody' })).toMatchObject({
      type: 'invalid',
      message: expect.stringMatching(/^mail: /),
    });
  });

  it('refuses by zod what JSON Schema cannot say', async () => {
    const parameters = z.object({ n: z.number() }).refine(({ n }) => n !== 13, { path: ['n'], message: 'is unlucky' });
    expect(await define({ parameters }).readArguments({ n: 13 })).toEqual({ type: 'invalid', message: 'n: is unlucky' });
  });
});

describe('a toolset', () => {
  it('with the same name twice is an error at its definition [S3-3]', () => {
    const twice = (): unknown => defineToolset({ id: 's', tools: [define({ name: 'a' }), define({ name: 'b' }), define({ name: 'a' })] });
    expect(twice).toThrow('defineToolset "s": two functions are named "a"; rename one of them.');
  });

  it.each<[string, object, RegExp]>([
    ['an id that is none', { id: 'My Set', tools: [] }, /^defineToolset "My Set": id must consist of/],
    ['no functions', { id: 's', tools: [{}] }, /tools must be a list of functions that defineTool returned/],
    ['a close that is none', { id: 's', tools: [], close: 1 }, /close must be a function/],
    ['an option that does not exist', { id: 's', tools: [], opne: 1 }, /"opne" is not an option/],
  ])('with %s is an error at its definition', (_, fields, expected) => {
    expect(() => defineToolset(fields as Parameters<typeof defineToolset>[0])).toThrow(expected);
  });
});

it('the types say what execute gets and what things are', () => {
  defineTool({
    ...sound,
    parameters: z.object({ city: z.string(), days: z.number().default(3), at: z.string().transform(Number) }),
    execute(args, context) {
      expectTypeOf(args).toEqualTypeOf<{ city: string; days: number; at: number }>();
      expectTypeOf(context).toEqualTypeOf<FunctionContext>();
      expectTypeOf(context.state.get('a')).toEqualTypeOf<JsonValue | undefined>();
      expectTypeOf(context.confirm).returns.resolves.toBeBoolean();
      expectTypeOf(context.critical(() => 5)).resolves.toBeNumber();
    },
    needsApproval: ({ city }) => city === 'x',
    inputGuardrails: [({ days }) => (days > 3 ? { reject: 'too many' } : undefined)],
  });
  defineTool({ ...sound, parameters: { type: 'object' }, execute: (args) => expectTypeOf(args).toEqualTypeOf<JsonObject>() });
  expectTypeOf(defineTool(sound)).toEqualTypeOf<FunctionTool>();
  expectTypeOf(defineToolset({ id: 's', tools: [] })).toEqualTypeOf<Toolset>();
  expectTypeOf(handoff).parameter(0).toBeString();
  expectTypeOf(noReply).parameters.toEqualTypeOf<[]>();
  expectTypeOf(withFiles).parameter(1).items.toHaveProperty('data').toEqualTypeOf<Uint8Array | string>();
  expect(new ToolError('x')).toBeInstanceOf(Error);
  // @ts-expect-error -- an option that does not exist
  expect(() => defineTool({ ...sound, timeout: 5 })).toThrow('"timeout" is not an option');
});
