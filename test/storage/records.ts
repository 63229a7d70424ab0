import type { BackendConfig } from '../../src/core/models/backend-config.ts';
import type { KeyRecord, ToolServerRecord } from '../../src/core/stores/registry.ts';

export function toolServerRecord(record: Partial<ToolServerRecord> = {}): ToolServerRecord {
  return {
    id: 'time',
    origin: 'file',
    url: 'http://127.0.0.1:9001',
    path: 'openapi.json',
    type: 'openapi',
    authType: 'none',
    headers: {},
    isEnabled: true,
    isDefault: true,
    functionFilter: [],
    tags: [],
    extra: {},
    ...record,
  };
}

export function keyRecord(record: Partial<KeyRecord> = {}): KeyRecord {
  return { id: 'key_a', name: 'a', role: 'user', hash: 'hash-a', createdAt: 1_700_000_000_000, ...record };
}

export function backendConfig(fields: Partial<BackendConfig> = {}): BackendConfig {
  const { url = 'http://127.0.0.1:9002/v1' } = fields;
  return {
    kind: 'openai',
    name: 'lab',
    origin: 'api',
    url,
    urls: [url],
    headers: {},
    maxContext: 32_768,
    isExplicit: true,
    ...fields,
  };
}
