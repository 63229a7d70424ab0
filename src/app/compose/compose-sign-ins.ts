import type { SignIns } from '../../core/callers/sign-in.ts';
import { createSignIns } from '../../tools/credentials/sign-ins.ts';
import type { ToolCatalog } from '../../tools/catalog/tool-catalog.ts';
import type { AppContext } from '../app-context.ts';
import type { Storage } from './compose-storage.ts';

/** Links with which people connect to tool servers. */
export function composeSignIns({ now }: AppContext, { storage, tools }: { storage: Storage; tools: ToolCatalog }): SignIns {
  return createSignIns({ store: storage.signIns, credentials: tools.credentials, oauth: tools.oauth, now });
}
