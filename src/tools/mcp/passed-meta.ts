import type { JsonObject } from '../../shared/json/json.ts';
import { isDeeperThan, isJsonObject } from '../../shared/json/json.ts';
import { limits } from '../../core/limits.ts';
import type { SecretMask } from '../../shared/secrets/secret-mask.ts';

/** Characters of the `_meta` of one tool or resource. The largest known ones have a tenth of this. */
export const mcpMetaCharacters = 16 * 1024;

/** Members that are about a connection between two peers (MCP specification, basic, `_meta`), and the gateway's own. */
const betweenPeers = /^(?:(?:io\.)?modelcontextprotocol(?:\.io)?\/|toolwharf\/|progressToken$)/;

/** The part of a server's `_meta` that is for clients, without credentials. Undefined if it is empty or too long. */
export function passedMeta(meta: unknown, mask: SecretMask, maxCharacters: number = mcpMetaCharacters): JsonObject | undefined {
  if (!isJsonObject(meta)) return undefined;
  const passed = Object.fromEntries(Object.entries(meta).filter(([key]) => !betweenPeers.test(key)));
  if (Object.keys(passed).length === 0 || isDeeperThan(passed, limits.jsonDepth)) return undefined;
  return JSON.stringify(passed).length > maxCharacters ? undefined : mask.value(passed);
}

/** Whether a tool is only for the interface of an app (MCP Apps, `visibility`). */
export function isForAppsOnly(meta: unknown): boolean {
  const ui = isJsonObject(meta) ? meta['ui'] : undefined;
  const visibility = isJsonObject(ui) ? ui['visibility'] : undefined;
  return Array.isArray(visibility) && !visibility.includes('model') && visibility.includes('app');
}
