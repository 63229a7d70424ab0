import { expect, it } from 'vitest';
import { parseToolServerConnection } from '../../../src/storage/tool-server-connection.ts';
import { functionModule } from '../../_support/tools-folder.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import { functionGateway } from '../functions/function-gateway.ts';

const document = {
  openapi: '3.1.0',
  info: { title: 'Clocks', version: '1' },
  paths: { '/time': { get: { operationId: 'get_time', summary: 'Tells the time', responses: {} } } },
};

it('a function that is called as an operation of a server keeps its name, in lists and by invocation as in chats', async () => {
  await using gateway = await functionGateway(
    { 'a.js': functionModule('get_time', { execute: '() => "mine"' }) },
    {
      servers: [parseToolServerConnection({ id: 'clocks', url: 'http://clocks.test', spec: document }, 'file')],
      answers: { 'http://clocks.test/time': { time: '12:00' } },
      turns: [calls(['get_time', {}]), says('ok')],
    },
  );
  const seen = await gateway.ask();
  const offered = gateway.model.requests[0]?.tools.map(({ name }) => name) ?? [];
  expect(offered).toEqual(['get_time', expect.stringMatching(/^get_time_\w+$/)]);
  expect(seen.eventsOf('tool.result')).toMatchObject([{ response: 'mine' }]);
  const listed = (await gateway.get('/api/tools')).json<{ data: { id: string; name: string }[] }>().data;
  expect(listed.map(({ id, name }) => [id, name])).toEqual([
    ['function:get_time', offered[0]],
    ['clocks/get_time', offered[1]],
  ]);
  expect((await gateway.invoke('get_time')).body['result']).toBe('mine');
  expect((await gateway.invoke(offered[1] ?? '')).body['result']).toEqual({ time: '12:00' });
});
