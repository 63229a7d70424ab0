import { SdkError, SdkErrorCode, type ClientCapabilities, type ServerContext } from '@modelcontextprotocol/server';
import type { AskClient } from '../../core/user-input/elicitation.ts';
import { toElicitation, toReply } from './elicitation-form.ts';

/** Asks on the stream of the call; the answer comes as a request of the same session. */
export function askInSession({ mcpReq }: ServerContext, capabilities: ClientCapabilities | undefined): AskClient {
  return async (request, { signal, timeoutMs }) => {
    const params = toElicitation(request, capabilities);
    if (params === undefined) return { type: 'unavailable' };
    try {
      const result = await mcpReq.send({ method: 'elicitation/create', params }, { signal, timeout: timeoutMs });
      return toReply(request, result);
    } catch (error) {
      signal.throwIfAborted();
      // Any other failure means that the client does not do what it has declared.
      return { type: error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout ? 'expired' : 'unavailable' };
    }
  };
}
