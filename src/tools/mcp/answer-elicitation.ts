import type { ElicitRequestParams, ElicitResult } from '@modelcontextprotocol/client';
import { isJsonObject } from '../../shared/json.ts';
import type { JsonObject } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';
import type { CallScope } from './call-scope.ts';
import { shortened } from './convert-tools.ts';

/**
 * What a server asks the user in the midst of a call goes to the session behind that call, under the server's name; the user may always decline.
 * Without a session, or where it is not known whose call it is, it is declined.
 */
export async function answerElicitation(params: ElicitRequestParams, server: string, scope: CallScope | undefined): Promise<ElicitResult> {
  const context = scope?.context;
  const hasSession = scope?.invocation.run.sessionId !== undefined;
  // An address to open could be anybody's page; only forms were offered to the server.
  if (context === undefined || !hasSession || 'url' in params) return { action: 'decline' };
  try {
    const value = await context.ask(shortened(`The tool server "${server}" asks`, limits.mcpStatusCharacters), {
      message: shortened(params.message, limits.mcpDescriptionCharacters),
      schema: params.requestedSchema as unknown as JsonObject,
    });
    return isJsonObject(value) ? { action: 'accept', content: value as NonNullable<ElicitResult['content']> } : { action: 'decline' };
  } catch {
    return { action: 'cancel' };
  }
}
