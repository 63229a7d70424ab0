import { expect, it } from 'vitest';
import { calls, says } from '../../_support/scripted-model.ts';
import { watchWorkerJobs } from '../../_support/worker-jobs.ts';
import { askPlainly, bankGateway, call, lastResults, pathsSent } from '../approvals/approval-fixture.ts';

function documentOf(schema: object, schemas: object = {}): object {
  const use = { operationId: 'use', requestBody: { content: { 'application/json': { schema } } }, responses: {} };
  return { openapi: '3.1.0', info: { title: 'Use', version: '1' }, paths: { '/use': { post: use } }, components: { schemas } };
}

/** Both branches fit at each level until the innermost fits none: a validator that reports all errors doubles its work with each level. */
const branch = { type: 'object', properties: { next: { $ref: '#/components/schemas/Node' } }, additionalProperties: false };
const recursive = documentOf(
  { type: 'object', properties: { node: { $ref: '#/components/schemas/Node' } } },
  { Node: { anyOf: [branch, branch] } },
);
const unique = documentOf({ type: 'object', properties: { items: { type: 'array', uniqueItems: true } } });

function nested(depth: number, innermost: object): object {
  let value = innermost;
  for (let level = 0; level < depth; level += 1) value = { next: value };
  return value;
}

it.each<[what: string, document: object, dear: object, cheap: object]>([
  ['a recursive anyOf over arguments nested 27 deep', recursive, { node: nested(27, { next: 'wrong' }) }, { node: nested(9, {}) }],
  ['unique items among 22,000', unique, { items: Array.from({ length: 22_000 }, (_, a) => [a]) }, { items: [[1], [2], [3]] }],
])("of a request's own document are refused unrun, and everybody else is served meanwhile: %s", async (_what, document, dear, cheap) => {
  const events = watchWorkerJobs();
  const answers = { 'http://use.test/use': { used: true } };
  await using gateway = await bankGateway({ servers: [], answers, turns: [calls(['use', dear], ['use', cheap]), says('Done.')] });
  const over = new AbortController();
  const asking = askPlainly(gateway, { tool_servers: [{ url: 'http://use.test', openapi: document }] }).finally(() => over.abort());
  let served = 0;
  while (!over.signal.aborted) {
    expect((await call(gateway, 'GET /health')).statusCode).toBe(200);
    served += 1;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  expect((await asking).choices[0]?.message.content).toBe('Done.');
  expect(lastResults(gateway)[0]).toMatch(
    /could not be checked in time, so the call was not run: the check takes longer than 1\.01 s\. Call it again/,
  );
  expect(pathsSent(gateway)).toEqual(['/use']);
  expect(events.filter(({ type }) => type === 'failed')).toMatchObject([{ error: { name: 'TookTooLong' } }]);
  expect(served).toBeGreaterThan(5);
});
