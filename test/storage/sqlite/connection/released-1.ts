import type { KeyRecord, ToolServerRecord } from '../../../../src/core/stores/registry.ts';
import { keyRecord, toolServerRecord } from '../../records.ts';

/** What `fixtures/released-1.sql` holds: a database as the first release wrote it. Never changed; a later release gets another one. */
export const released: {
  secret: string;
  toolServers: ToolServerRecord[];
  keys: KeyRecord[];
  facts: Record<string, string>;
} = {
  secret: 'the secret of the released database',
  toolServers: [
    toolServerRecord({
      id: 'weather',
      origin: 'database',
      url: 'https://weather.example/api',
      authType: 'header',
      authName: 'x-weather-key',
      key: "a key with 'quotes' and ünïcode",
      headers: { 'x-tenant': 'north', 'x-user': '{{USER_ID}}' },
      spec: { openapi: '3.1.0', paths: {} },
      extra: { config: { needs_approval: ['send'] }, later: [1, null] },
    }),
    toolServerRecord({ id: 'time', origin: 'bundled', isDefault: false, timeoutMs: 1_500, tags: ['a', 'b'], functionFilter: ['!drop'] }),
  ],
  keys: [
    keyRecord({ id: 'key_1', name: 'first', role: 'admin', hash: 'aa'.repeat(32) }),
    keyRecord({ id: 'key_2', hash: 'bb'.repeat(32), expiresAt: 1_900_000_000_000, models: ['m'], tools: [], limits: { perMinute: 3 } }),
  ],
  facts: { bundled_registered: 'yes' },
};
