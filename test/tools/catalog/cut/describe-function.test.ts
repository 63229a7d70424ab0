import { describe, expect, it } from 'vitest';
import type { ToolOutcome } from '../../../../src/core/tools/tool.ts';
import type { JsonObject } from '../../../../src/shared/json/json.ts';
import { createDescribeFunction } from '../../../../src/tools/catalog/cut/describe-function.ts';
import { runContext, toolMap, toolNamed } from '../../../_support/tools.ts';
import { functionTokens } from '../../../../src/tools/catalog/cut/cut-spec.ts';

const parameters: JsonObject = {
  type: 'object',
  properties: {
    spec: { $ref: '#/$defs/Spec' },
    'dotted.name': { type: 'integer' },
    labels: { type: 'object', additionalProperties: { type: 'string', maxLength: 63 } },
    'a/b': { type: 'boolean' },
    many: {
      type: 'object',
      properties: Object.fromEntries(
        Array.from({ length: 500 }, (_, index) => [`part_${index}`, { type: 'string', description: 'word '.repeat(30) }]),
      ),
    },
  },
  $defs: {
    Spec: {
      allOf: [
        { type: 'object', properties: { containers: { type: 'array', items: { $ref: '#/$defs/Container' } } } },
        {
          anyOf: [
            { type: 'object', properties: { volume: { type: 'string' } } },
            { type: 'object', properties: { claim: { type: 'null' } } },
          ],
        },
      ],
    },
    Container: { type: 'object', properties: { image: { type: 'string', pattern: '^[a-z]' }, sidecar: { $ref: '#/$defs/Container' } } },
  },
};

async function ask(pointer?: string, name = 'create_pod'): Promise<ToolOutcome> {
  const tool = createDescribeFunction('describe_function', toolMap(toolNamed('create_pod', '', { parameters })));
  const run = runContext();
  const args = { name, ...(pointer !== undefined && { pointer }) };
  return tool.run({ callId: 'c', args, run, signal: run.signal, timeoutMs: 1_000 });
}

describe('describe_function', () => {
  it.each([
    ['/spec/containers/0/image', '/spec/containers/*/image'],
    ['/spec/containers/*/image', '/spec/containers/*/image'],
    ['spec/containers/-/image', '/spec/containers/*/image'],
    ['spec.containers[0].image', '/spec/containers/*/image'],
    ['$.spec.containers[].image', '/spec/containers/*/image'],
    ['#/properties/spec/properties/containers/items/properties/image', '/spec/containers/*/image'],
    ['/spec/containers/0/sidecar/sidecar/sidecar/image', '/spec/containers/*/sidecar/sidecar/sidecar/image'],
  ])('finds %s', async (pointer, found) => {
    expect(await ask(pointer)).toMatchObject({ value: { pointer: found, schema: { type: 'string', pattern: '^[a-z]' } } });
  });

  it.each([
    ['dotted.name', '/dotted.name', { type: 'integer' }],
    ['/a~1b', '/a~1b', { type: 'boolean' }],
    ['/labels/any key', '/labels/*', { type: 'string', maxLength: 63 }],
    ['/spec/volume', '/spec/volume', { type: 'string' }],
    ['/spec/anyOf/1/claim', '/spec/anyOf/1/claim', { type: 'null' }],
  ])('finds %s as well', async (pointer, found, schema) => {
    expect(await ask(pointer)).toMatchObject({ value: { pointer: found, schema } });
  });

  it('describes everything from the top without a pointer, and makes the function callable', async () => {
    const outcome = await ask();
    expect(outcome).toMatchObject({
      value: { name: 'create_pod', description: 'Does create_pod', schema: { properties: { spec: { properties: { containers: {} } } } } },
      offers: ['create_pod'],
    });
  });

  it('keeps to its size, and names what it leaves out', async () => {
    const outcome = await ask('/many');
    const text = JSON.stringify(outcome.type === 'result' ? outcome.value : '');
    expect(text.length).toBeLessThan(functionTokens * 4);
    expect(text).toMatch(/Also part_\d+, .*, …\. More: \/many/);
  });

  it.each([
    ['/spec/container', 'There is no "container" in "/spec". It has, nearest first: containers, volume, claim.'],
    ['/spek', 'There is no "spek" in the parameters of create_pod. It has, nearest first: spec, dotted.name, labels, a/b, many.'],
    ['/a~1b/c', 'There is no "c" in "/a~1b", which has no named members.'],
  ])('names the nearest members for %s', async (pointer, message) => {
    expect(await ask(pointer)).toEqual({ type: 'error', code: 'tool_error', message });
  });

  it('names the nearest function for an unknown one', async () => {
    expect(await ask('/spec', 'create_pods')).toMatchObject({
      message: 'There is no function "create_pods". The nearest is "create_pod".',
    });
  });
});
