import { expect, it } from 'vitest';
import { ownPeer } from '../../../src/tools/mcp/mcp-peer.ts';
import { runContext } from '../../_support/tools.ts';
import { mcpRecord } from './mcp-fixture.ts';

it.each([undefined, ['x-tenant']])('results hide the latest token of a person, with the headers %j forwarded', (forwardedHeaders) => {
  let record = mcpRecord({ authType: 'bearer', key: 'CANARY-old', ...(forwardedHeaders && { forwardedHeaders }) });
  const peer = ownPeer(() => record);
  record = { ...record, key: 'CANARY-new' };
  const run = runContext({ readHeader: () => 'CANARY-tenant' });
  const { mask, credentialMask } = peer.masksFor?.(run) ?? peer;
  expect([mask.text('a CANARY-new'), credentialMask.text('a CANARY-new')]).toEqual(['a [secret]', 'a [secret]']);
});
