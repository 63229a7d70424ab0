import { execFile } from 'node:child_process';
import { expect, it } from 'vitest';

const sourceOf = (path: string): string => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);

/** The lines that a guarded process prints which runs `script`, and its exit code. */
async function runGuarded(script: string): Promise<{ code: number; lines: string[] }> {
  const program = `
    import { guardProcess } from ${sourceOf('cli/guard-process.ts')};
    import { runTurnOf } from ${sourceOf('shared/async/foreign-turns.ts')};
    const logger = { error: ({ connection }) => console.log('logged', connection) };
    guardProcess({ modules: { toolsDir: undefined, hooks: [] } }, logger);
    const peer = { name: 'peer', fail: ({ message }) => console.log('ended by', message) };
    ${script}`;
  return new Promise((resolve) => {
    execFile(process.execPath, ['--input-type=module', '-e', program], (error, stdout) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, lines: stdout.split('\n').filter((line) => line !== '') });
    });
  });
}

it('a promise that fails in the turn of a connection ends the connection, and the process goes on', async () => {
  const ended = await runGuarded(`
    runTurnOf(peer, () => {
      void Promise.reject(new Error('the first'));
      setTimeout(() => void (async () => { throw new Error('a later one'); })(), 1);
    });
    process.once('beforeExit', () => console.log('alive'));`);
  expect(ended).toEqual({ code: 0, lines: ['logged peer', 'ended by the first', 'logged peer', 'ended by a later one', 'alive'] });
});

it.each([
  ['an exception in the turn of a connection', `runTurnOf(peer, () => setTimeout(() => { throw new Error('broken'); }, 1));`],
  ['a promise that fails in no such turn', `void Promise.reject(new Error('broken'));`],
])('%s ends the process, because its state is unknown', async (_what, script) => {
  expect(await runGuarded(`${script} process.once('beforeExit', () => console.log('alive'));`)).toEqual({ code: 1, lines: [] });
});

it('code that runs for an MCP server runs in the turn of its connection, which is opened anew afterwards', async () => {
  const ended = await runGuarded(`
    import { createMcpConnection } from ${sourceOf('tools/mcp/mcp-connection.ts')};
    import { requestPeer } from ${sourceOf('tools/mcp/mcp-peer.ts')};
    let opened = 0;
    const answer = (id, result) => ({ status: 200, headers: { 'content-type': 'application/json' }, body: (async function* () {
      if (result.tools) setImmediate(() => void Promise.reject(new Error('dropped')));
      yield Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, result }));
    })() });
    const send = async ({ body = '{}' }) => {
      const { id, method } = JSON.parse(body);
      if (method === 'initialize') opened += 1;
      if (method === 'initialize') return answer(id, { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'p', version: '1' } });
      if (method === 'tools/list') return answer(id, { tools: [] });
      return { status: id === undefined ? 202 : 404, headers: {}, body: (async function* () {})() };
    };
    const server = { label: 'peer', url: 'http://peer.test/mcp', headers: {} };
    const connection = createMcpConnection(requestPeer(server, { mayReachPrivate: true, schemasBytes: 1000 }), {
      send, version: '1', onListChanged() {}, onProcessEnded() {}, onNotificationsDropped() {},
    });
    const { signal } = new AbortController();
    for (let time = 0; time < 2; time += 1) {
      await connection.list(signal);
      await new Promise((resolve) => process.once('unhandledRejection', () => setImmediate(resolve)));
    }
    console.log('opened', opened);
    await connection.close();
    process.exit();`);
  const message = 'logged the MCP server "peer"';
  expect(ended).toEqual({ code: 0, lines: [message, message, 'opened 2'] });
});
