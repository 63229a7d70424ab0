/**
 * Limits that callers, models, servers and operators can reach, each with its reason. Settings override some of them. Limits that concern only the
 * internals of one file are in that file.
 */
export const limits = {
  // Bodies and JSON

  /** A vision request with a few images fits; larger bodies are an attack, or belong in a file store. */
  bodyBytes: 10 * 1024 * 1024,
  /** Deeper JSON has no use in a chat, and would overflow recursive code. */
  jsonDepth: 64,
  /** Nesting of a body: a document of `documentDepth` in a list of tool servers. MCP messages are cut below it, since parsing deeper ones takes seconds. */
  bodyDepth: 256,
  /** Up to this size any body is cheap, so it is parsed without counting its values first. */
  smallBodyBytes: 64 * 1024,
  /** A body, frame or result up to this size, with at most this many values, is parsed on the main thread, which takes 5 ms. Others go to a worker. */
  inPlaceCharacters: 512 * 1024,
  inPlaceValues: 10_000,
  /** Values in a body or frame, without inline documents, at a microsecond each. Ten messages with tools have 70: the longest chat fits. */
  bodyValues: 50_000,
  /** A form with files, which goes on to a backend. OpenAI takes audio files of 25 MB. */
  formBytes: 32 * 1024 * 1024,
  /** Different field names in one body; each costs as much as three values. */
  bodyFieldNames: 8_000,
  /** Numbers directly in arrays, such as tokens to be embedded; each costs a tenth of a value. */
  bodyNumbers: 500_000,
  /** How long a connection stays open for its client to read a refusal, while the rest of the body is not read. */
  refusedBodyLingerMs: 1_000,

  // Chat requests

  /** Even a chat of years has fewer messages; more only costs memory. */
  messages: 5_000,
  /** Entries of `tool_ids`, and their length; nobody chooses more by hand. */
  toolIds: 1_000,
  toolIdCharacters: 256,
  /** OpenAI and its imitators refuse more functions than this in one request: the caller's own, and all that a model is offered. */
  toolsPerRequest: 128,
  /** Tool servers that one request may supply. */
  toolServersPerRequest: 64,
  /** MCP servers among them, each with a connection of its own for the run; clients send one or two. */
  mcpServersPerRequest: 16,
  /** Functions of all these servers together: as many as one document may have operations. They are offered like those of registered servers. */
  requestFunctions: 10_000,
  /** How often a stream is looked at: one that has sent nothing since the last look gets a comment, so that proxies in front keep it. */
  keepAliveMs: 15_000,

  // Presets

  /** Longer prompts belong in files. */
  presetSystemCharacters: 100_000,

  // Tool calls

  /** Arguments of one call; a model that streams more is stuck in a loop. */
  argumentsBytes: 256 * 1024,
  /** Rounds of tool calls in one answer (`CHAT_RESPONSE_MAX_TOOL_CALL_ITERATIONS`). */
  toolRounds: 10,
  /** The largest number of rounds a request may ask for. */
  maxToolRounds: 256,
  /** Calls that run at the same time within one round. */
  parallelToolCalls: 8,
  /** Calls in one round; a model that makes more is out of control. */
  callsPerRound: 64,
  /** Calls in one run, over all rounds: far more than any task needs, to stop a model in a loop. */
  callsPerRun: 512,
  /** Total time of one call, whatever progress it reports (default of `TOOL_TOTAL_TIMEOUT_MS`). */
  toolTotalTimeoutMs: 300_000,

  // Tool results

  /** Size of one tool result for a model; more would fill any context window. */
  toolResultBytes: 256 * 1024,
  /** Size of a result that the gateway accepts, to truncate and store it. */
  keptResultBytes: 4 * 1024 * 1024,
  /** Pictures of functions in one model request, the newest of the run: each costs a model about a thousand tokens. */
  toolPictures: 8,
  /** JSON with more values is kept as text, because a dozen steps between server and model traverse each value. */
  resultValues: 20_000,
  /** Of one call, retries included: more of them say nothing new to the person who looks at them. */
  recordedRequests: 8,

  // Functions, toolsets and hooks of operators

  /** Functions and toolsets of one module. */
  functionsPerModule: 200,
  /** Default time limit of a hook; every chat waits for it. */
  hooks: 50,
  /** State that the functions of one chat may store. */
  stateKeys: 100,
  stateCharacters: 64 * 1024,

  // Backends

  connectTimeoutMs: 5_000,
  /** Connections to one backend or tool server (default of `UPSTREAM_MAX_CONNECTIONS`): a thousand streams. Each takes a file descriptor. */
  connectionsPerOrigin: 1_024,
  /** A backend that takes longer to list its models is left out of the list, which the caller gets in time. */
  modelListTimeoutMs: 2_000,
  /** One SSE or NDJSON line of a backend. */
  upstreamLineBytes: 1024 * 1024,
  /** Values in one line of a stream; most have a dozen. Parsing this many takes 10 ms. */
  upstreamLineValues: 20_000,
  /** An error page of a backend: enough to find its message. */
  upstreamErrorBytes: 64 * 1024,

  // OpenAPI documents

  /** The largest of the real documents that were measured, GitHub's, has 13 MB. */
  documentBytes: 16 * 1024 * 1024,
  /** No real document is deeper; every recursive function over documents stops here. */
  documentDepth: 200,
  /** A tool server's document must arrive within this time. */
  documentTimeoutMs: 10_000,
  /** Operations of one document. */
  operations: 10_000,
  requestCharacters: 6_000_000,

  // MCP servers

  /** Finding out whether it speaks the protocol version of 2026; older servers over stdio may not answer at all. */
  mcpListTimeoutMs: 10_000,
  /** Connecting to an MCP server that a request supplies, and its whole list: the chat waits for it. */
  requestMcpOpenMs: 15_000,
  /** An answer to which no other limit applies; as long as tools may run at all. */
  mcpAnswerMs: 30 * 60 * 1000,
  /** One message of an MCP server: the largest result with its envelope, in base64. */
  mcpMessageBytes: 8 * 1024 * 1024,
  /** Notifications of one MCP server: burst and rate. Further ones are dropped. */
  mcpNotificationsPerSecond: 100,
  /** Tools of one MCP server; the largest known ones have a few hundred. */
  mcpTools: 1_000,
  /** The specification allows 128; some servers have longer ones. */
  mcpNameCharacters: 256,
  /** A description is read by the model in every round; longer ones are manuals, or an attack. */
  mcpDescriptionCharacters: 4_000,
  /** Parts of one result. */
  mcpContentBlocks: 1_000,
  /** The URI of a resource, or the template of one: as long as browsers take URLs. */
  mcpUriCharacters: 2_048,

  // Websockets and sessions

  /** One websocket frame: a tool result of the largest size with its envelope. */
  socketFrameBytes: 1024 * 1024,
  /** Bytes that are buffered for a browser that does not read, before its socket is closed. */
  socketBufferBytes: 4 * 1024 * 1024,
  /** A browser has one, an application a few; each holds a session with its calls. */
  socketsPerCaller: 16,
  /** Of a key with all the people for whom it speaks: a large team, with a page each. */
  socketsPerKey: 1_024,
  /** Chats that one caller may start over all its sockets within sixty seconds; more is a program that should use HTTP. */
  socketMessagesPerMinute: 600,
  /** Time to authenticate on a socket that was opened without a credential. */
  socketAuthTimeoutMs: 5_000,
  /** How long a session waits for its browser to come back. */
  sessionGraceMs: 30_000,
  /** How long a message with `interrupt` waits for the end of the chat that it cancels: functions may be in critical sections. */
  interruptMs: 30_000,

  // The log of runs

  /** How long usage by day is kept, and people who do nothing are known: a quarter of a year, as accounts are settled. */
  usageDays: 90,
  /** Runs that are looked through for one page, because filters may fit none of them and reading blocks the event loop: a few milliseconds. */
  searchedRuns: 1_000,
  /** Names of functions, and of servers, by which a run is found in the list. */
  listedNames: 32,

  // Approvals and suspended runs

  /** A human's message on a rejection, which the model reads. */
  approvalMessageCharacters: 4_000,
  /** What one run did. If it is larger, its results are shortened; if that is not enough, it is forgotten. */
  shortenedResultCharacters: 4_000,
  /** How often a session is asked about one call while edited arguments do not match the schema, or hooks change them. */
  approvalTries: 3,

  // Credentials of people for tool servers

  /** Of a key with all its people: thousands of people with a few servers each. Beyond it new ones are refused, because nobody's may be lost. */
  credentialsPerKey: 20_000,
  /** A personal access token has a hundred, a signed token some thousands. */
  credentialCharacters: 4_096,
  /** A token is refreshed this long before it expires, so that none expires on its way. */
  oauthRefreshAheadMs: 30_000,
  /** For all tokens of a deletion together; those that are not revoked by then expire by themselves. */
  oauthRevocationMs: 15_000,
  /** How long a sign-in at an authorization server may take. */
  signInStateMs: 10 * 60 * 1000,
  /** How long somebody stays signed in to the console at most, however long the provider lets tokens be refreshed: a week of work. */
  loginMs: 7 * 24 * 60 * 60 * 1000,

  // Stored responses (`STORE_CHATS`), which are kept as long as stored chats

  /** Responses that one may build on, each on the one before: a conversation of years. */
  responseHistory: 1_000,
} as const;
