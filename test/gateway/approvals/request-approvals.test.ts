import { expect, it } from 'vitest';
import { calls, says } from '../../_support/scripted-model.ts';
import { askPlainly, bankDocument, bankGateway, decide, pathsSent } from './approval-fixture.ts';

it.each([[['pay']], [true]])('a server that a request brings along may want approvals: %j', async (wanted) => {
  await using gateway = await bankGateway({ servers: [], turns: [calls(['pay', { amount: 5 }]), says('Paid.')] });
  const server = { url: 'http://bank.test', openapi: bankDocument, config: { needs_approval: wanted } };
  const asked = await askPlainly(gateway, { tool_servers: [server] });
  expect([asked.approval.calls[0]?.tool, pathsSent(gateway)]).toEqual(['pay', []]);
  expect((await decide(gateway, asked)).statusCode).toBe(200);
  expect(pathsSent(gateway)).toEqual(['/pay']);
});

it('a typing error in what it wants is told, so that it lifts no protection', async () => {
  await using gateway = await bankGateway({ servers: [] });
  const server = { url: 'http://bank.test', openapi: bankDocument, config: { needs_approval: 'pay' } };
  expect((await askPlainly(gateway, { tool_servers: [server] }))['error']).toMatchObject({
    param: 'tool_servers.0.config.needs_approval',
  });
});
