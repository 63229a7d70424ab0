import Fastify from 'fastify';
import { expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { sendInSlices } from '../../../src/http/routes/send-in-slices.ts';

async function answerTo(value: JsonObject): Promise<{ type: unknown; body: unknown }> {
  const app = Fastify();
  app.get('/', async (_, reply) => sendInSlices(reply.code(201), value));
  const response = await app.inject({ url: '/' });
  await app.close();
  expect(response.statusCode).toBe(201);
  return { type: response.headers['content-type'], body: JSON.parse(response.body) };
}

it('sends what JSON would be', async () => {
  const value = {
    ok: true,
    none: null,
    left: undefined,
    report: { functions: [{ name: 'a', parameters: { x: ['ä', 1.5] } }], empty: {}, list: [] },
  };
  expect(await answerTo(value)).toEqual({ type: 'application/json; charset=utf-8', body: JSON.parse(JSON.stringify(value)) });
});

it('reads the members of a list in slices, between which others have their turn', async () => {
  const turns: number[] = [];
  let turn = 0;
  const ticking = setInterval(() => undefined, 1_000);
  const count = (): void => void ((turn += 1), (next = setImmediate(count)));
  let next = setImmediate(count);
  const functions = Array.from({ length: 64 }, (_, index) => ({
    name: `f${index}`,
    get parameters() {
      turns.push(turn);
      return { text: 'x'.repeat(32_000) };
    },
  }));
  const { body } = await answerTo({ report: { functions } });
  clearImmediate(next);
  clearInterval(ticking);
  expect((body as { report: { functions: unknown[] } }).report.functions).toHaveLength(64);
  expect(new Set(turns).size).toBeGreaterThan(8);
});
