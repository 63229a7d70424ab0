import type { ChatRequest } from './chat.ts';

/** A request with default values for all other fields, for internal requests. */
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
    purpose: 'chat',
    ...fields,
  };
}
