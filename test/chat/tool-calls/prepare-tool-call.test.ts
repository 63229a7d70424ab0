import { describe, expect, it } from 'vitest';
import { prepareToolCall } from '../../../src/chat/tool-calls/prepare-tool-call.ts';
import { runContext, toolMap, toolNamed } from '../../_support/tools.ts';

const run = runContext();

const seedNames = [
  'get_current_utc_get_current_utc_time_get',
  'get_current_local_get_current_local_time_get',
  'format_current_time_format_time_post',
  'list_time_zones_list_time_zones_get',
];
const seedTools = toolMap(...seedNames.map((name) => toolNamed(name, 1, { isReadOnly: name.endsWith('get'), server: 'time' })));

it.each([
  ['get_current_local_get_current_local_time_get', 'get_current_local_get_current_local_time_get'],
  ['get_current_local', 'get_current_local_get_current_local_time_get'],
  ['getCurrentLocal', 'get_current_local_get_current_local_time_get'],
  ['GET-CURRENT-UTC-get-current-utc-time-get', 'get_current_utc_get_current_utc_time_get'],
  ['time/format_current_time_format_time_post', 'format_current_time_format_time_post'],
  ['list_time_zones', 'list_time_zones_list_time_zones_get'],
])('the name %s is understood as %s', async (written, expected) => {
  const prepared = await prepareToolCall({ id: '1', name: written, arguments: '{}' }, seedTools, run);
  expect(prepared.type === 'ready' && prepared.tool.spec.name).toBe(expected);
});

it.each([['get_current'], ['get'], ['get_cur'], ['time'], ['constructor'], ['__proto__'], [''], ['get_current_locale']])(
  'the name %s fits no function or more than one, and is refused',
  async (written) => {
    expect(await prepareToolCall({ id: '1', name: written, arguments: '{}' }, seedTools, run)).toMatchObject({
      type: 'refused',
      code: 'tool_not_found',
    });
  },
);

it('a twin renamed for a clash does not make a shortened name ambiguous', async () => {
  const twins = toolMap(...['list_zones_get_3d3f22', 'list_zones_get'].map((name) => toolNamed(name, 1, { isReadOnly: true })));
  const prepared = await prepareToolCall({ id: '1', name: 'list_zones', arguments: '{}' }, twins, run);
  expect(prepared.type === 'ready' && prepared.tool.spec.name).toBe('list_zones_get');
});

describe('the name of a function that may write', () => {
  const shop = toolMap(
    toolNamed('cancel_order', 1, { server: 'shop' }),
    toolNamed('delete_account_for_good', 1, { server: 'shop' }),
    toolNamed('shop_refund', 1, { server: 'shop' }),
    toolNamed('convert_time_convert_time_post', 1, { endpoint: 'POST http://time.test/convert_time' }),
    toolNamed('remove_item_items__item_id__delete', 1, { endpoint: 'DELETE http://time.test/items/{item_id}' }),
    toolNamed('purge_all_logs_delete', 1, { endpoint: 'DELETE http://time.test/logs' }),
    toolNamed('list_open_invoices', 1, { isReadOnly: true }),
    toolNamed('get_weather', 1),
    toolNamed('switch_off_light_12', 1),
  );
  const nameOf = async (name: string): Promise<string> => {
    const prepared = await prepareToolCall({ id: '1', name, arguments: '{}' }, shop, run);
    return prepared.type === 'ready' ? prepared.tool.spec.name : prepared.message;
  };

  it.each([
    ['cancelOrder', 'cancel_order'],
    ['CANCEL-ORDER', 'cancel_order'],
    ['cancel.order', 'cancel_order'],
    ['shop/cancel_order', 'cancel_order'],
    ['shop.cancel_order', 'cancel_order'],
    ['shop__cancel_order', 'cancel_order'],
    ['mcp__shop__cancel_order', 'cancel_order'],
    ['functions.cancel_order', 'cancel_order'],
    ['refund', 'shop_refund'],
    ['convert_time', 'convert_time_convert_time_post'],
    ['remove_item', 'remove_item_items__item_id__delete'],
    ['list_open', 'list_open_invoices'],
    ['cancel', 'cancel_order'],
    ['delete_account', 'delete_account_for_good'],
    ['delete_account_fo', 'delete_account_for_good'],
    ['weather', 'get_weather'],
    ['invoices', 'list_open_invoices'],
  ])('is understood as %s', async (written, expected) => {
    expect(await nameOf(written)).toBe(expected);
  });

  it.each([
    ['order', 'cancel_order'],
    ['account_for_good', 'delete_account_for_good'],
    ['item', 'remove_item_items__item_id__delete'],
    ['logs_delete', 'purge_all_logs_delete'],
    ['archive/cancel_order', 'cancel_order'],
    ['functions.order', 'cancel_order'],
    ['switch_off_light_1', 'switch_off_light_12'],
  ])('is not understood as %s, and the model reads which names there are', async (written, nearest) => {
    expect(await nameOf(written)).toMatch(new RegExp(`^There is no function '${written}'\\. Available: .*${nearest}`));
  });
});

const parameters = {
  type: 'object',
  properties: {
    count: { type: 'integer' },
    ratio: { anyOf: [{ type: 'number' }, { type: 'null' }] },
    isOn: { type: 'boolean' },
    name: { type: 'string' },
    unit: { type: 'string', enum: ['seconds', 'hours'] },
    tags: { type: 'array', items: { type: 'string' } },
    place: { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] },
  },
  required: [],
};
const tools = toolMap(toolNamed('f', 1, { parameters }), toolNamed('strict', 1, { parameters: { ...parameters, required: ['name'] } }));

it.each([
  ['', {}],
  ['{}', {}],
  ['null', {}],
  ['None', {}],
  ['[]', {}],
  ['""', {}],
  ['{"count": 3}</tool_call>', { count: 3 }],
  ['{"count": 3}<|im_end|>\n', { count: 3 }],
  ['```json\n{"count": 3}\n```', { count: 3 }],
  ['"{\\"count\\": 3}"', { count: 3 }],
  ["{'name': 'it\\'s', 'isOn': True, 'ratio': None}", { name: "it's", isOn: true, ratio: null }],
  ["```python\n{'tags': ('a', 'b'),}\n```", { tags: ['a', 'b'] }],
  ['{"count": "5"}', { count: 5 }],
  ['{"ratio": "0.5"}', { ratio: 0.5 }],
  ['{"ratio": null}', { ratio: null }],
  ['{"count": null}', {}],
  ['{"isOn": "TRUE"}', { isOn: true }],
  ['{"name": 42}', { name: '42' }],
  ['{"name": "42"}', { name: '42' }],
  ['{"tags": "[\\"a\\"]"}', { tags: ['a'] }],
  ['{"tags": [1, "b"]}', { tags: ['1', 'b'] }],
  ['{"place": "{\\"x\\": \\"2\\"}"}', { place: { x: 2 } }],
  ['{"__proto__": {"polluted": 1}, "count": 1}', { count: 1 }],
])('the arguments %s become %j', async (text, expected) => {
  const prepared = await prepareToolCall({ id: '1', name: 'f', arguments: text }, tools, run);
  expect(prepared.type === 'ready' && prepared.args).toEqual(expected);
});

it.each([
  ['f', '{"count": ', 'args_not_json', 'JSON object'],
  ['f', '[1]', 'args_not_json', 'JSON object'],
  ['f', "{'name': 'Par", 'args_not_json', 'JSON object'],
  ['f', "{'name': place}", 'args_not_json', 'JSON object'],
  ['f', "{'name': 'a'}['name']", 'args_not_json', 'JSON object'],
  ['f', '7', 'args_not_json', 'JSON object'],
  ['f', '{"a":1}{"b":2}', 'args_not_json', 'JSON object'],
  ['f', '{"count": 3} is what I mean', 'args_not_json', 'JSON object'],
  ['f', 'Not {"count": 3}</tool_call>', 'args_not_json', 'JSON object'],
  ['f', '{"count": "five"}', 'args_invalid', 'count: must be integer'],
  ['f', '{"unit": "days"}', 'args_invalid', 'unit: must be one of ["seconds","hours"]'],
  ['f', '{"place": {}}', 'args_invalid', 'place.x: is required'],
  ['strict', '{}', 'args_invalid', 'name: is required'],
  ['f', '{"unit": "hours", "invented": 1}', 'args_invalid', 'invented: is not an argument of this function'],
  [
    'strict',
    '{"nam": "x"}',
    'args_invalid',
    "nearest is 'name'; known arguments: count, ratio, isOn, name, unit, tags, place; name: is required",
  ],
  ['f', `{"name": "${'x'.repeat(300_000)}"}`, 'args_too_large', 'Call it again with less'],
  ['f', `{"tags": ${'['.repeat(200)}${']'.repeat(200)}}`, 'args_not_json', 'JSON object'],
])('%s(%.40s) is refused with %s', async (name, text, code, message) => {
  const prepared = await prepareToolCall({ id: '1', name, arguments: text }, tools, run);
  expect(prepared).toMatchObject({ type: 'refused', code, message: expect.stringContaining(message) });
});

it('a pattern that would block a backtracking engine is checked in linear time', async () => {
  const hostile = toolMap(
    toolNamed('f', 1, { parameters: { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } }, required: [] } }),
  );
  const prepared = await prepareToolCall({ id: '1', name: 'f', arguments: JSON.stringify({ a: `${'a'.repeat(40)}!` }) }, hostile, run);
  expect(prepared).toMatchObject({ type: 'refused', code: 'args_invalid' });
});

it('a schema that cannot be compiled leaves the check to the tool server', async () => {
  const broken = toolMap(
    toolNamed('f', 1, { parameters: { type: 'object', properties: { a: { type: 'nonsense', pattern: '(' } }, required: [] } }),
  );
  expect(await prepareToolCall({ id: '1', name: 'f', arguments: '{"a": 1}' }, broken, run)).toMatchObject({ type: 'ready' });
});

it('each schema is checked with its own patterns', async () => {
  const patterned = (pattern: string) =>
    toolMap(toolNamed('f', 1, { parameters: { type: 'object', properties: { a: { type: 'string', pattern } }, required: [] } }));
  const typeOf = async (pattern: string, value: string): Promise<string> =>
    (await prepareToolCall({ id: '1', name: 'f', arguments: JSON.stringify({ a: value }) }, patterned(pattern), run)).type;
  expect(await typeOf('^first$', 'first')).toBe('ready');
  expect(await typeOf('^[0-9]+$', '42')).toBe('ready');
  expect(await typeOf('^[0-9]+$', 'first')).toBe('refused');
});

it('a schema that asks for asynchronous validation is checked like any other', async () => {
  const parameters = { $async: true, type: 'object', properties: { a: { type: 'string' }, $id: { type: 'string' } }, required: ['a'] };
  const asynchronous = toolMap(toolNamed('f', 1, { parameters }));
  expect(await prepareToolCall({ id: '1', name: 'f', arguments: '{}' }, asynchronous, run)).toMatchObject({
    type: 'refused',
    code: 'args_invalid',
  });
  expect(await prepareToolCall({ id: '1', name: 'f', arguments: '{"a":"x","$id":"y"}' }, asynchronous, run)).toMatchObject({
    type: 'ready',
    args: { a: 'x', $id: 'y' },
  });
});

it('two schemas of one $id do not meet', async () => {
  const named = (type: string) =>
    toolMap(toolNamed('f', 1, { parameters: { $id: 'urn:x', type: 'object', properties: { a: { $id: 'urn:y', type } }, required: [] } }));
  expect((await prepareToolCall({ id: '1', name: 'f', arguments: '{"a": true}' }, named('boolean'), run)).type).toBe('ready');
  expect((await prepareToolCall({ id: '1', name: 'f', arguments: '{"a": "no"}' }, named('integer'), run)).type).toBe('refused');
});

it('a name of a megabyte is no name', async () => {
  expect(await prepareToolCall({ id: '1', name: 'get_'.repeat(250_000), arguments: '{}' }, seedTools, run)).toMatchObject({
    code: 'tool_not_found',
  });
});

it.each([
  ['{"name": 3.10, "tags": [2.0, 1e21], "count": 5.0, "ratio": 1.50}', '{"name":"3.10","tags":["2.0","1e21"],"count":5,"ratio":1.5}'],
  ['{"name": 3.1, "place": {"x": 1.10}}', '{"name":"3.1","place":{"x":1.1}}'],
])('a number becomes text as the model wrote it, and any other number stays one: %s', async (args, sent) => {
  const prepared = await prepareToolCall({ id: '1', name: 'f', arguments: args }, tools, run);
  expect(prepared.type === 'ready' && JSON.stringify(prepared.args)).toBe(sent);
  expect(prepared.type === 'ready' && prepared.given).toEqual(JSON.parse(args));
});

it('a text that may be a thousand or one is no whole number', async () => {
  const count = async (text: string) => prepareToolCall({ id: '1', name: 'f', arguments: JSON.stringify({ count: text }) }, tools, run);
  expect(await count('12.000')).toMatchObject({ type: 'refused', code: 'args_invalid' });
  expect(await count('12.0')).toMatchObject({ type: 'ready', args: { count: 12 } });
});
