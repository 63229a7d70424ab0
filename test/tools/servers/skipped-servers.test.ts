import { expect, it } from 'vitest';
import { examineToolServers } from '../../../src/app/doctor/examine-tool-servers.ts';
import { createOpeningMarks, findSkippedServers, skippedMs } from '../../../src/tools/servers/opening-marks.ts';
import { memoryRegistry } from '../../_support/memory-stores.ts';
import { mcpTools, mcpRecord, offerOf } from '../mcp/mcp-fixture.ts';
import { scriptedPeer, toolOf } from '../mcp/scripted-peer.ts';
import { scriptedSend } from '../scripted-send.ts';

it('a server that ended the gateway three times while it was opened is skipped, reported, and opened by a refresh', async () => {
  const record = mcpRecord();
  const registry = memoryRegistry([record]);
  for (const _end of [1, 2, 3]) {
    const isBegun = Promise.withResolvers<void>();
    const marks = createOpeningMarks({ facts: registry, now: () => 0, settleMs: 0 });
    void marks.open(record, false, () => (isBegun.resolve(), new Promise(() => undefined)));
    await isBegun.promise;
  }
  const peer = scriptedPeer([toolOf('echo')]);
  const mcp = mcpTools({ registry, records: [record], transports: peer.transports });
  expect((await offerOf(mcp)).warnings).toMatchObject([{ code: 'mcp_unavailable' }]);
  expect(await mcp.servers.states()).toMatchObject([{ id: 'peer', state: 'unreachable', skipped: true }]);
  expect(mcp.inspector.reportOf(record)).toMatchObject({ ok: false, error: expect.stringContaining('crashed') });

  const findSkipped = () => findSkippedServers(registry, [record], 0);
  await expect.poll(findSkipped).toEqual(new Map([['peer', skippedMs]]));
  const skipped = await findSkipped();
  const { send, requests } = scriptedSend();
  const examination = { send, isContainer: false, signal: new AbortController().signal };
  const findings = await examineToolServers({ toolServers: [record], skipped, isUsed: true }, examination);
  expect(findings).toMatchObject([{ level: 'broken', text: expect.stringContaining('POST /api/tool-servers/peer/refresh') }]);
  expect([peer.connections, requests.length]).toEqual([0, 0]);

  expect(await mcp.inspector.refresh(record, new AbortController().signal)).toMatchObject({ ok: true });
  expect(await mcp.servers.states()).toEqual([{ id: 'peer', state: 'ok', functions: 1 }]);
});
