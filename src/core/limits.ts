/**
 * What callers, models, servers and operators can run into, each limit with its reason. Settings may override some of them. What bounds only
 * the inner work of one file, and is seen nowhere else, stands in that file.
 */
export const limits = {
  // Bodies and JSON

  /** A vision request with a few images fits; larger bodies are an attack or belong in a file store. */
  bodyBytes: 10 * 1024 * 1024,
  /** Deeper JSON has no use in a chat and overflows recursive code after it. */
  jsonDepth: 64,
  /** Nesting of a whole body: a document of `documentDepth` within a list of tool servers. Megabytes of brackets cost the parser seconds. */
  bodyDepth: 256,
  /** Up to here a body costs next to nothing, whatever it holds: it is parsed without counting its values first. */
  smallBodyBytes: 64 * 1024,
  /** A body, a frame or a result up to this size, with at most this many values, is parsed in place: five milliseconds. Others go to a worker. */
  inPlaceCharacters: 512 * 1024,
  inPlaceValues: 10_000,
  /**
   * Values (objects, lists, texts and so on) in one body or frame, without inline documents: parsing, checking and writing them again takes a
   * microsecond each. Ten messages of a chat with tools have seventy, so the longest chat with 128 functions fits.
   */
  bodyValues: 50_000,
  /** Different names of fields in it: each of them costs as much as three values. */
  bodyFieldNames: 8_000,
  /** Numbers directly in lists, which cost a tenth: tokens to be embedded. */
  bodyNumbers: 500_000,
  /** Parsing a body in a worker: many times what the largest takes. */
  parseTimeoutMs: 10_000,
  /** Larger bodies on their way in, over all requests: what is being received lies in memory before anybody has looked at it. */
  arrivingBodiesBytes: 64 * 1024 * 1024,
  /** Unfinished bodies of one caller; beyond it the slowest of them is given up. */
  arrivingBodiesPerCaller: 64,
  /** A body has to bring so many bytes in every such time: 1 kB/s, half of what the slowest mobile networks carry, with a gap for a tunnel. */
  bodyPaceBytes: 15_000,
  bodyPaceMs: 15_000,
  /**
   * Pieces of one body that may be of any size. Beyond them all pieces together have to hold `bodyPieceBytes` on average: each piece costs the
   * same, and 64 kB can come as tens of thousands.
   */
  smallBodyPieces: 500,
  bodyPieceBytes: 64,
  /** How long a connection stays open for its client to read a refusal, while the rest of the body is not read. */
  refusedBodyLingerMs: 1_000,

  // Chat requests

  /** A chat of years has fewer messages; more only burns memory per request. */
  messages: 5_000,
  /** Fields of a chat's body, known and unknown ones. */
  chatFields: 256,
  /** Replacements in system prompts; frontends send about ten. */
  variables: 1_000,
  /** OpenAI and its imitators refuse more functions than this in one request. */
  toolsPerRequest: 128,
  /** Tool servers that one request may supply. */
  toolServersPerRequest: 64,
  /** Headers are sent at the latest after this time, so that proxies in front do not give up. */
  headersDelayMs: 10_000,
  /** Comments between events while tools run or a model thinks. */
  keepAliveMs: 15_000,

  // Presets

  /** Stored presets: all of them are read together. */
  presets: 500,
  /** Longer prompts belong in files. */
  presetSystemCharacters: 100_000,
  /** Presets that one may hand over to: their names stand in a schema. */
  subAgents: 32,
  /** Hand-offs within one run: agents that send each other around never answer. */
  handoffs: 8,
  /** Presets that call each other as tools, one within the other. */
  presetDepth: 4,

  // The offer and the selection of tools

  /** Functions that are offered to a model beside the caller's own: providers refuse more than 128 in all. */
  offeredFunctions: 128,
  /** Tokens of all offered functions: half the context of a small local model. Above it the ones that fit the conversation are chosen. */
  offeredTokens: 16_000,
  /** Functions that are chosen when there are too many: with more, models choose worse. */
  chosenFunctions: 40,
  /** Up to here functions and arguments are chosen by one request; with more, a small model reads little but schemas, so the names come first. */
  selectedAtOnce: 20,
  /** Calls that the schema of a selection allows: a small model that is constrained to a schema may otherwise never end its list. */
  selectedCalls: 16,
  /** Characters of the schema of a selection; building a grammar of more takes longer than the answer. */
  selectionFormCharacters: 40_000,
  /** Characters of an answer that are searched for a selection: one call with the longest arguments fits. */
  selectionCharacters: 300_000,
  /** Text without a label that `react` buffers, because it may turn out to be a thought before an action. */
  unlabelledCharacters: 400,
  /** What a model writes after its action in `react` is invented; the stream of a backend without stop sequences is closed after this much. */
  inventedCharacters: 400,

  // Tool calls

  /** A single call's arguments: a model that streams more is stuck in a loop. */
  argumentsBytes: 256 * 1024,
  /** Rounds of tool calls in one answer (`CHAT_RESPONSE_MAX_TOOL_CALL_ITERATIONS`). */
  toolRounds: 10,
  /** The largest number of rounds a request may ask for. */
  maxToolRounds: 256,
  /** Calls that run at the same time within one round. */
  parallelToolCalls: 8,
  /** Calls in one round; more is a model out of control. */
  callsPerRound: 64,
  /** Calls in one run, over all rounds; far beyond any task, and an end to a model in a circle. */
  callsPerRun: 512,
  /** How often the very same call runs in one run without giving anything new; the next one is answered with an explanation. */
  identicalCalls: 2,
  /** Rounds in a row in which no call could run. They do not count as rounds, so they need an end of their own. */
  reasksInARow: 2,
  /** After this time no further round begins: whoever waits longer has left. */
  toolPhaseMs: 30 * 60 * 1000,
  /** One call, progress or not, where no setting says otherwise (`TOOL_TOTAL_TIMEOUT_MS`). */
  toolTotalTimeoutMs: 300_000,
  /** Before the second attempt of a call that has had no effect: a restarting server needs a moment. */
  toolRetryDelayMs: 250,
  /** Progress events of one call; a tool that reports more is in a loop. */
  progressEventsPerCall: 1_000,
  /** What the gateway executed beside a caller's own functions waits this long for the caller's answer. */
  continuationMs: 60 * 60 * 1000,
  continuations: 1_000,
  continuationsCharacters: 64 * 1024 * 1024,
  /** Turns with calls, from the end of a history, for which stored results are looked up; nobody makes more of them in an hour. */
  continuationsPerRequest: 256,

  // Tool results

  /** What one tool result may hand to a model; more would fill any context window. */
  toolResultBytes: 256 * 1024,
  /** What a model reads of one result where its context is not known: about 25,000 tokens. It reads on by a reference. */
  modelResultBytes: 100_000,
  /** What a tool may return for the gateway to truncate and store. */
  keptResultBytes: 4 * 1024 * 1024,
  /** JSON of more values stays the text that the server sent: a dozen steps between the server and the model look at each value. */
  resultValues: 20_000,
  /** Results stored for reading on, over one run. */
  keptResultsCharacters: 8 * 1024 * 1024,
  keptResults: 64,
  /** Results of functions with `cacheTtlMs`, over all callers. */
  cachedResults: 1_000,
  cachedResultsCharacters: 16 * 1024 * 1024,
  /** Results of calls with longer arguments are not cached. */
  cacheKeyCharacters: 4_096,
  /** A file in an event as a `data:` URI: a picture for a page, not an archive. */
  eventFileCharacters: 1_400_000,

  // Functions, toolsets and hooks of operators

  /** Loading one module of `tools_dir` or of a hook, what it awaits at its top level included. */
  moduleLoadMs: 10_000,
  /** A module that takes longer joins the others later: the first chats wait for the folder. */
  modulePatienceMs: 2_000,
  /** Modules in `tools_dir`; more is another folder, taken by mistake. */
  toolModules: 500,
  /** Functions and toolsets of one module. */
  functionsPerModule: 200,
  /** `setup` of a toolset: opening a connection. */
  toolsetSetupMs: 30_000,
  /** `close` of a toolset; the connection is given up after it in any case. */
  toolsetCloseMs: 5_000,
  /** `isEnabled` of a function: every chat waits for the slowest one. */
  enablementMs: 1_000,
  /** Threads of functions with `worker: true` that run at a time: more would only share the processor's cores. */
  functionThreads: 4,
  functionThreadMegabytes: 512,
  /** One hook, where its entry sets no other time: every chat waits for it. */
  hookMs: 5_000,
  hooks: 50,
  /** What `afterModel` has to read before anybody else sees it. */
  heldAnswerCharacters: 4 * 1024 * 1024,
  /** What the functions of one chat may store in its state. */
  stateKeys: 100,
  stateCharacters: 64 * 1024,
  /** Chats with state in memory; the ones that were not used for the longest time go first. */
  stateChats: 10_000,
  stateTotalCharacters: 32 * 1024 * 1024,
  /** The same as it outlives the process, encrypted for each chat. */
  stateLastingCharacters: 64 * 1024 * 1024,
  /** State that is not written any more is stored this long: as long as a stored chat. */
  stateMs: 30 * 24 * 60 * 60 * 1000,

  // Backends

  connectTimeoutMs: 5_000,
  /** A model list that takes longer costs that backend its models, not the caller the answer. */
  modelListTimeoutMs: 2_000,
  /** How long a model list is believed. */
  modelListTtlMs: 30_000,
  /** How long a backend's "no tools" is remembered for a model. */
  noToolsMemoryMs: 60 * 60 * 1000,
  /** How long it is remembered which form of structured output a backend takes for a model. */
  outputFormMemoryMs: 60 * 60 * 1000,
  /** Pairs of a model and a schema for which one backend's form is remembered. */
  outputForms: 1_000,
  /** One SSE or NDJSON line of a backend. */
  upstreamLineBytes: 1024 * 1024,
  /** Values in one line of a stream; most have a dozen. Parsing so many takes ten milliseconds. */
  upstreamLineValues: 20_000,
  /** Of a stream, what is read in one turn of the event loop: a hundred chunks. */
  upstreamSliceBytes: 16 * 1024,
  /** All of one streamed answer; images as data URIs fit. */
  upstreamAnswerBytes: 64 * 1024 * 1024,
  /** A whole JSON answer that is not streamed. */
  upstreamJsonBytes: 16 * 1024 * 1024,
  /** Values in it: a list of seven hundred models with all their details, or two thousand tokens with their probabilities. */
  upstreamAnswerValues: 50_000,
  /** An answer with embeddings, which is passed on as it came: two thousand of them with fifteen hundred numbers each. */
  embeddingsAnswerBytes: 64 * 1024 * 1024,
  /** An error page of a backend: enough to find its message. */
  upstreamErrorBytes: 64 * 1024,

  // OpenAPI documents

  /** GitHub's document, the largest of the real ones that were measured, has 13 MB. */
  documentBytes: 16 * 1024 * 1024,
  /** Deeper documents were never seen; every recursive step over one stops here. */
  documentDepth: 200,
  /** Files of one document; the largest real one consists of 290. */
  documentFiles: 1_000,
  /** A tool server's document must arrive within this time. */
  documentTimeoutMs: 10_000,
  /** Parsing and converting it, its files included: ten times what the largest real one takes. */
  documentReadingMs: 30_000,
  /** How often an opened server is asked whether its document has changed. Most answer with a 304, which costs nothing. */
  documentRefreshMs: 10 * 60 * 1000,
  /** A registered tool server that takes longer to open joins the chats later. */
  serverPatienceMs: 2_000,
  /** Operations of one document. */
  operations: 10_000,
  /** Nodes that one function's schema may have once its references are inlined. */
  schemaNodes: 20_000,
  /** Parameters of one function, as JSON: twice the largest of the real documents. No model's context holds a few of them. */
  functionCharacters: 200_000,
  /**
   * One document of a registered server (`ConversionBudget` says what each of the three counts): seventeen times what the largest of the real
   * ones takes; at worst two or three seconds.
   */
  registeredNodes: 2_000_000,
  registeredValues: 5_000_000,
  registeredCharacters: 5_000_000,
  /** All documents of one request, which anybody may send: a quarter of a second at worst. 128 functions of the largest real document take a third. */
  requestNodes: 150_000,
  requestValues: 500_000,
  requestCharacters: 1_500_000,
  /** What is converted on the main thread, while everything else waits: twenty milliseconds; documents of 64 KB take a quarter of it. */
  waitedForNodes: 15_000,
  waitedForValues: 50_000,

  // MCP servers

  /** Reaching an MCP server and agreeing on a protocol, each step. */
  mcpConnectTimeoutMs: 10_000,
  /** The same for a process, which npm may have to fetch first. */
  mcpProcessStartMs: 60_000,
  /** Finding out whether it speaks the protocol of 2026: old servers over pipes answer nothing. */
  mcpProbeTimeoutMs: 5_000,
  mcpListTimeoutMs: 10_000,
  /** What no other limit ends; as long as tools may run at all. */
  mcpAnswerMs: 30 * 60 * 1000,
  /** A stream of notifications may be silent for long; after this it is opened anew. */
  mcpStreamIdleMs: 60 * 60 * 1000,
  /** Between the end of a stream and the certainty that the answer was not in it. */
  mcpCutGraceMs: 250,
  /** A server that says again and again that its list has changed is asked once in this time. */
  mcpListPauseMs: 300,
  /** Of what a process writes to stderr: the end, in which it says why it ended. */
  mcpErrorOutputBytes: 8 * 1024,
  mcpErrorOutputLines: 10,
  mcpErrorOutputLineCharacters: 300,
  /** One message of an MCP server: the largest result with its envelope, in base64. */
  mcpMessageBytes: 8 * 1024 * 1024,
  /** Values in it, which the SDK parses and checks in one go: a list of a thousand tools with thirty values each. */
  mcpMessageValues: 40_000,
  /** Messages that the SDK handles in one turn of the event loop: it takes up to a tenth of a millisecond for each. */
  mcpMessagesPerTurn: 100,
  /** Notifications of one MCP server: at once, and then in a second. Those beyond it are dropped. */
  mcpNotificationBurst: 2_000,
  mcpNotificationsPerSecond: 100,
  /** Dropped ones in a row until the connection is closed. */
  mcpDroppedNotifications: 20_000,
  /** Tools of one MCP server; the largest known ones have a few hundred. */
  mcpTools: 1_000,
  /** Definitions that are pinned of one server, those that are gone included. */
  mcpPins: 2_000,
  /** The specification allows 128; some servers have longer ones. */
  mcpNameCharacters: 256,
  /** A description is read by the model in every round; longer ones are manuals, or an attack. */
  mcpDescriptionCharacters: 4_000,
  /** A schema of one tool. */
  mcpSchemaBytes: 128 * 1024,
  /** Parts of one result. */
  mcpContentBlocks: 1_000,
  /** A progress message. */
  mcpStatusCharacters: 500,

  // Websockets and sessions

  /** One websocket frame: a tool result of the largest size with its envelope. */
  socketFrameBytes: 1024 * 1024,
  /** Bytes that may wait for a browser which does not read, before its socket is closed. */
  socketBufferBytes: 4 * 1024 * 1024,
  /** A browser has one, an application a few; each holds a session with its calls. */
  socketsPerCaller: 16,
  /** Active chats of one session; more is a loop in the page. */
  chatsPerSession: 16,
  /** Chats that one caller may start over all its sockets within sixty seconds; more is a program that should use HTTP. */
  socketMessagesPerMinute: 600,
  /** Of one socket; a browser that runs many tools at once stays far below. */
  socketFramesPerSecond: 400,
  /** What one socket may send a second, and at once after a pause; one that sends more is read more slowly. */
  socketBytesPerSecond: 1024 * 1024,
  socketBurstBytes: 4 * 1024 * 1024,
  /** The same for all sockets of one caller. */
  callerSocketBytesPerSecond: 4 * 1024 * 1024,
  callerSocketBurstBytes: 8 * 1024 * 1024,
  /** Time to authenticate on a socket that was opened without a credential. */
  socketAuthTimeoutMs: 5_000,
  /** How long a session waits for its browser to come back. */
  sessionGraceMs: 30_000,
  /** Elicitations that one session may have open; more is a tool in a loop. */
  elicitationsPerSession: 64,

  // The log of runs

  /** How long a run can be read after its end (`GET /api/runs`). */
  runLogMs: 24 * 60 * 60 * 1000,
  /** Seven a minute for a day; beyond it the oldest go first, because the log must never crowd out what is registered. */
  loggedRuns: 10_000,
  /** The same for their size, mostly results of tools: an eighth of the largest database. */
  loggedRunsCharacters: 128 * 1024 * 1024,
  /** One text within a logged event: enough to see what was asked and answered. The model reads the whole. */
  loggedTextCharacters: 4_000,
  /** One logged event, however many texts it has. */
  loggedEventCharacters: 16_000,
  /** The events of one logged run: all rounds of an ordinary answer. */
  loggedRunCharacters: 128 * 1024,
  loggedRunEvents: 1_000,
  /** Progress events are many and say little; they must not displace results. */
  loggedProgressEvents: 100,
  /** Names of functions logged with one model request; the start of the run has all that were on offer then. */
  loggedFunctionNames: 32,
  /** Runs in memory that cannot be written to the store just now. */
  unsavedRuns: 5_000,
  /** Runs in one page of the list. */
  runsPerPage: 200,

  // Approvals and suspended runs

  /** How long the token of an approval is good, and how long its run waits: a day, so that a night may lie between. */
  approvalTokenMs: 24 * 60 * 60 * 1000,
  /** Suspended runs of one caller; nobody decides more of them. */
  waitingRunsPerCaller: 200,
  /** A run whose answer has failed is not stored while so many wait: answers that nobody fetches must not crowd out decisions. */
  retriedRunsPerCaller: 100,
  /** A suspended run, as JSON: the largest body with the results that a run may store. */
  waitingRunCharacters: 24 * 1024 * 1024,
  /** All of them together, encrypted: a quarter of the largest database. */
  waitingRunsCharacters: 256 * 1024 * 1024,
  /** Decisions that apply to the rest of a chat, over all callers; the oldest go first, and their questions are put again. */
  rememberedApprovals: 10_000,
  /** The same as they are stored, each encrypted: far more than a word takes. */
  rememberedApprovalsCharacters: 4 * 1024 * 1024,
  /** A chat that goes on the next day asks again. */
  rememberedApprovalMs: 24 * 60 * 60 * 1000,
  /** A human's words on a rejection; the model reads them. */
  approvalMessageCharacters: 4_000,
  /** How often a session is asked about one call, where the arguments that it gives do not match the schema. */
  approvalTries: 3,
  /** The id under which a call waits stands in the URL of its decision; some servers put kilobytes of signatures into their ids. */
  waitingCallIdCharacters: 256,
  /** How long a decision waits for the end of the answer that asked for it. */
  approvalHandoverMs: 5_000,

  // Stored chats (`STORE_CHATS`)

  /** How long a chat with `store: true` is stored: as long as OpenAI stores one. */
  storedChatMs: 30 * 24 * 60 * 60 * 1000,
  /** A chat every nine minutes of that time; beyond it a caller's oldest go first. */
  storedChatsPerCaller: 5_000,
  /** One caller must not fill what all share. */
  storedCharactersPerCaller: 64 * 1024 * 1024,
  /** A quarter of the largest database, over all callers. */
  storedChatsCharacters: 256 * 1024 * 1024,
  /** One stored chat with its request; images beyond it are left out, and a chat whose texts alone are larger is not stored. */
  storedChatCharacters: 2 * 1024 * 1024,
  /** Keys and values of `metadata`, as OpenAI limits them. */
  metadataEntries: 16,
  metadataKeyCharacters: 64,
  metadataValueCharacters: 512,
  /** Stored chats, or messages of one, in one page. */
  chatsPerPage: 100,
  /** The same for their size; the page is shorter then. */
  chatPageCharacters: 8 * 1024 * 1024,
  /** Chats that one search finds; a model reads every one of them. */
  foundChats: 20,
} as const;
