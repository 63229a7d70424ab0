/** Every limit of the gateway, in one place, each with its reason. Settings may override those that `config.ts` names. */
export const limits = {
  /** A vision request with a few images fits; larger bodies are an attack or belong into a file store. */
  bodyBytes: 10 * 1024 * 1024,
  /** Deeper JSON has no use in a chat and overflows recursive code after it. */
  jsonDepth: 64,
  /** A chat of years has fewer messages; more only burns memory per request. */
  messages: 5_000,
  /** OpenAI and its imitators refuse more functions than this in one request. */
  toolsPerRequest: 128,
  /** Further servers one request may bring along. */
  toolServersPerRequest: 64,
  /** A single call's arguments: a model that streams more is stuck in a loop. */
  argumentsBytes: 256 * 1024,
  /** What one tool result may hand to a model; more would fill any context window. */
  toolResultBytes: 256 * 1024,
  /** Rounds of tool calls in one answer (`CHAT_RESPONSE_MAX_TOOL_CALL_ITERATIONS`). */
  toolRounds: 10,
  /** The largest number of rounds a request may ask for. */
  maxToolRounds: 256,
  /** Calls that run at the same time within one round. */
  parallelToolCalls: 8,
  /** Calls in one round; more is a model out of control. */
  callsPerRound: 64,
  /** One SSE or NDJSON line of a backend. */
  upstreamLineBytes: 1024 * 1024,
  /** A whole JSON answer of a backend that does not stream; images as data URIs fit. */
  upstreamAnswerBytes: 64 * 1024 * 1024,
  /** An error page of a backend: enough to find its message. */
  upstreamErrorBytes: 64 * 1024,
  /** GitHub's document, the largest of the real ones that were measured, has 13 MB. */
  documentBytes: 16 * 1024 * 1024,
  /** Deeper documents were never seen; every recursive step over one stops here. */
  documentDepth: 200,
  /** Nodes that one function's schema may have once its references are inlined. */
  schemaNodes: 20_000,
  /** Operations of one document. */
  operations: 10_000,
  /** A tool server's document must arrive within this time. */
  documentTimeoutMs: 10_000,
  /** A model list that takes longer costs that backend its models, not the caller the answer. */
  modelListTimeoutMs: 2_000,
  /** How long a model list is believed. */
  modelListTtlMs: 30_000,
  /** How long a backend's "no tools" is remembered for a model. */
  noToolsMemoryMs: 60 * 60 * 1000,
  connectTimeoutMs: 5_000,
  /** One websocket frame: a tool result of the largest size with its envelope. */
  socketFrameBytes: 1024 * 1024,
  /** Bytes that may wait for a browser which does not read, before its socket is closed. */
  socketBufferBytes: 4 * 1024 * 1024,
  socketsPerCaller: 16,
  /** Time to authenticate on a socket that was opened without a credential. */
  socketAuthTimeoutMs: 5_000,
  /** How long a session waits for its browser to come back. */
  sessionGraceMs: 30_000,
  /** Headers are sent at the latest after this time, so that proxies in front do not give up. */
  headersDelayMs: 10_000,
  /** Comments between events while tools run or a model thinks. */
  keepAliveMs: 15_000,
  /** What the gateway executed beside a caller's own functions waits this long for the caller's answer. */
  continuationMs: 60 * 60 * 1000,
  continuations: 1_000,
} as const;
