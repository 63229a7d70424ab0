import { expect, it } from 'vitest';
import type { ListedTool } from '../../../src/core/tools/tool.ts';
import { createListedTexts } from '../../../src/http/listed-texts.ts';
import { testApp } from '../../_support/build-app.ts';
import { readsPerMinute } from '../../../src/policy/rate-limits.ts';

function toolOf(name: string): ListedTool {
  const hints = { isReadOnly: false, isIdempotent: false, gateways: [] };
  return { id: `s/${name}`, name, description: '', parameters: { type: 'object' }, server: 's', kind: 'openapi', hints };
}

function countingTexts() {
  const written: string[] = [];
  const texts = createListedTexts(['all', 'some'], ({ name }) => {
    written.push(name);
    return { all: JSON.stringify(name), some: name.startsWith('b') ? JSON.stringify(`ä${name}`) : '' };
  });
  return { written, texts };
}

it('a list is written once, however many read it at the same time and afterwards', async () => {
  const { written, texts } = countingTexts();
  const listed = ['a', 'b1', 'c', 'b2'].map(toolOf);
  const [one, other] = await Promise.all([texts.of(listed), texts.of(listed)]);
  const { all, some } = await texts.of(listed);
  expect(written).toEqual(['a', 'b1', 'c', 'b2']);
  expect([one.all, other.all]).toEqual([all, all]);
  expect(all.part().toString()).toBe('"a","b1","c","b2"');
  expect(some.part().toString()).toBe('"äb1","äb2"');
  await texts.of([...listed]);
  expect(written, 'another list').toHaveLength(8);
});

it('every part of a list is what JSON would be', async () => {
  const { texts } = countingTexts();
  const names = ['a', 'b1', 'c', 'b2', 'd'];
  const { all, some } = await texts.of(names.map(toolOf));
  for (let from = 0; from <= names.length; from += 1)
    for (let to = from; to <= names.length; to += 1) {
      const part = names.slice(from, to);
      expect(JSON.parse(`[${all.part(from, to).toString()}]`)).toEqual(part);
      expect(JSON.parse(`[${some.part(from, to).toString()}]`)).toEqual(
        part.filter((name) => name.startsWith('b')).map((name) => `ä${name}`),
      );
    }
  expect(all.pageEnd(0, 1)).toBe(1);
  expect(all.pageEnd(1, 6)).toBe(3);
  expect(all.pageEnd(0, 1_000)).toBe(5);
  const nothing = await texts.of([]);
  expect(nothing.all.part().toString()).toBe('');
});

it('a list that could not be written is written anew', async () => {
  let isBroken = true;
  const texts = createListedTexts(['all'], ({ name }) => {
    if (isBroken) throw new Error('broken');
    return { all: JSON.stringify(name) };
  });
  const listed = [toolOf('a')];
  await expect(texts.of(listed)).rejects.toThrow('broken');
  isBroken = false;
  expect((await texts.of(listed)).all.part().toString()).toBe('"a"');
});

it('reads of lists are counted for each caller, and the refusal says what to do', async () => {
  await using app = await testApp({ TOOLWHARF_ADMIN_KEY: 'sk-administrator', TOOLWHARF_DEMO: 'true' }, { now: () => 1_000_000 });
  const administrator = { authorization: 'Bearer sk-administrator' };
  const payload = { name: 'user', role: 'user', limits: { requests_per_minute: 5 } };
  const made = await app.server.inject({ method: 'POST', url: '/api/keys', headers: administrator, payload });
  const headers = { authorization: `Bearer ${made.json<{ key: string }>().key}`, accept: 'application/json, text/event-stream' };
  const rpc = (method: string) => ({
    method: 'POST' as const,
    url: '/mcp',
    headers,
    payload: { jsonrpc: '2.0', id: 1, method, params: {} },
  });
  const reads = [
    { method: 'GET' as const, url: '/api/tools', headers },
    { method: 'GET' as const, url: '/api/tools?limit=3', headers },
    { method: 'HEAD' as const, url: '/api/tools', headers },
    { method: 'GET' as const, url: '/api/tools/openapi.json', headers },
    rpc('tools/list'),
    rpc('resources/list'),
  ];
  for (let index = 0; index < readsPerMinute; index += 1) {
    const read = reads[index % reads.length] ?? rpc('tools/list');
    const { statusCode } = await app.server.inject(read);
    expect(statusCode, `${read.url} ${index}`).toBe(200);
  }
  for (const read of reads) {
    const refused = await app.server.inject(read);
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '60']);
    expect(read.method === 'HEAD' ? 'Read the list once and keep it' : refused.body).toContain('Read the list once and keep it');
  }
  expect((await app.server.inject({ url: '/api/tools', headers: administrator })).statusCode).toBe(200);
  expect((await app.server.inject(rpc('ping'))).statusCode).toBe(200);
  const chat = { model: 'demo', messages: [{ role: 'user', content: 'hello' }] };
  expect((await app.server.inject({ method: 'POST', url: '/v1/chat/completions', headers, payload: chat })).statusCode).toBe(200);
});
