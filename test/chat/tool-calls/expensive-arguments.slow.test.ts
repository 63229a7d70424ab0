import { expect, it } from 'vitest';
import { prepareToolCall } from '../../../src/chat/tool-calls/prepare-tool-call.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { runContext, toolMap, toolNamed } from '../../_support/tools.ts';

const branch = (name: string): JsonObject => ({ type: 'object', properties: { a: { $ref: '#/$defs/node' } }, required: [name] });
const parameters = { type: 'object', properties: { a: { $ref: '#/$defs/node' } }, $defs: { node: { anyOf: [branch('b'), branch('c')] } } };

function nested(depth: number): JsonObject {
  let value: JsonObject = {};
  for (let level = 0; level < depth; level += 1) value = { a: value };
  return value;
}

it('a call whose arguments cannot be checked in time does not run, and is called no fault of the arguments', async () => {
  const tools = toolMap(toolNamed('use', 'used', { parameters }));
  const prepare = (args: JsonObject) => prepareToolCall({ id: '1', name: 'use', arguments: JSON.stringify(args) }, tools, runContext());
  expect(await prepare(nested(50))).toMatchObject({
    type: 'refused',
    code: 'tool_internal_error',
    message:
      "The arguments of 'use' could not be checked in time, so the call was not run: the check takes longer than 1.01 s. Call it again; if that fails too, use less nesting and shorter lists and texts.",
  });
  expect(await prepare({ a: 1 })).toMatchObject({ type: 'refused', code: 'args_invalid' });
  expect(await prepare({})).toMatchObject({ type: 'ready' });
});
