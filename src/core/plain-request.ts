import type { ChatRequest } from './chat.ts';

/** A request with nothing in it but what is given: as the gateway asks itself. */
export function plainRequest(fields: Pick<ChatRequest, 'model' | 'messages' | 'stream'> & Partial<ChatRequest>): ChatRequest {
  return {
    callerFunctions: [],
    hostedTools: [],
    toolChoice: undefined,
    parallelToolCalls: undefined,
    parameters: {},
    toolServers: [],
    toolIds: undefined,
    mode: undefined,
    maxToolRounds: undefined,
    toolTimeoutMs: undefined,
    sessionId: undefined,
    chatId: undefined,
    messageId: undefined,
    variables: {},
    files: [],
    isTask: false,
    ...fields,
  };
}
