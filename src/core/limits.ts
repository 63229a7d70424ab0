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
  /**
   * Nesting of a whole body: a document of `documentDepth` within a list of tool servers. Megabytes of brackets cost the parser seconds. Messages of MCP
   * servers are cut below it.
   */
  bodyDepth: 256,
  /** Up to this size any body is cheap, so it is parsed without counting its values first. */
  smallBodyBytes: 64 * 1024,
  /** A body, frame or result up to this size, with at most this many values, is parsed on the main thread, which takes 5 ms. Others go to a worker. */
  inPlaceCharacters: 512 * 1024,
  inPlaceValues: 10_000,
  /**
   * Values (objects, lists, texts and so on) in one body or frame, without inline documents: parsing, checking and writing them again takes a
   * microsecond each. Ten messages of a chat with tools have seventy, so the longest chat with 128 functions fits.
   */
  bodyValues: 50_000,
  /** Values in all the texts of a request that only the gateway reads, such as signatures of thoughts: six thousand of those, and parsing takes 20 ms. */
  returnedValues: 20_000,
  /** A form with files, which goes on to a backend. OpenAI takes audio files of 25 MB. */
  formBytes: 32 * 1024 * 1024,
  /** Fields and files of a form; sixteen images with masks fit. */
  formParts: 128,
  /** The headers of one part: its name, file name and type. */
  formPartHeadBytes: 8 * 1024,
  /** Different field names in one body; each costs as much as three values. */
  bodyFieldNames: 8_000,
  /** Numbers directly in arrays, such as tokens to be embedded; each costs a tenth of a value. */
  bodyNumbers: 500_000,
  /** Parsing a body in a worker: many times longer than the largest takes. */
  parseTimeoutMs: 10_000,
  /** All large bodies that are being received at the same time: they are in memory before they are validated. */
  arrivingBodiesBytes: 64 * 1024 * 1024,
  /** Incomplete bodies of one caller; beyond it the slowest is rejected. */
  arrivingBodiesPerCaller: 64,
  /** Bytes of a body that must arrive in each window of `bodyPaceMs`: 1 kB/s, half the rate of the slowest mobile networks; the window bridges a tunnel. */
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

  /** Even a chat of years has fewer messages; more only costs memory. */
  messages: 5_000,
  /** Entries of `tool_ids`, and their length; nobody chooses more by hand. */
  toolIds: 1_000,
  toolIdCharacters: 256,
  /** Fields of a chat's body, known and unknown ones. */
  chatFields: 256,
  /** Replacements in system prompts; frontends send about ten. */
  variables: 1_000,
  /** OpenAI and its imitators refuse more functions than this in one request: the caller's own, and all that a model is offered. */
  toolsPerRequest: 128,
  /** Texts in one request for embeddings; OpenAI takes no more. */
  embeddedTexts: 2_048,
  /** Tool servers that one request may supply. */
  toolServersPerRequest: 64,
  /** MCP servers among them, each with a connection of its own for the run; clients send one or two. */
  mcpServersPerRequest: 16,
  /** Functions of all these servers together: as many as one document may have operations. They are offered like those of registered servers. */
  requestFunctions: 10_000,
  /** Response headers are sent after this time at the latest, so that proxies in front do not time out. */
  headersDelayMs: 10_000,
  /** How often a stream is looked at: one that has sent nothing since the last look gets a comment, so that proxies in front keep it. */
  keepAliveMs: 15_000,

  // Reads

  /**
   * Lists of functions that one caller may read within sixty seconds (`GET /api/tools`, `GET /api/tools/openapi.json`, `tools/list`). Agents read one for
   * each conversation. A read of 500 functions takes a millisecond or two, or thirty when the list has changed.
   */
  readsPerMinute: 600,
  /** Lists of functions that are kept with their texts, over all callers. Callers with the same functions share one. */
  keptLists: 1_000,
  /** Size of all of them. A list of GitHub's thousand functions takes eight million; a list that is dropped is made again. */
  keptListsCharacters: 64 * 1024 * 1024,

  // Presets

  /** Stored presets, which are always read together. */
  presets: 500,
  /** Longer prompts belong in files. */
  presetSystemCharacters: 100_000,
  /** Presets that one preset may hand over to; their names are in a function's schema. */
  subAgents: 32,
  /** Hand-offs within one run, to stop presets that hand over in circles. */
  handoffs: 8,
  /** Nesting of presets that call each other as tools. */
  presetDepth: 4,

  // The offer and the selection of tools

  /** Functions that are offered to a model besides the caller's own: providers refuse more than 128 in all. */
  offeredFunctions: 128,
  /** Tokens of all offered functions: half the context of a small local model. Beyond it those that fit the conversation best are offered. */
  offeredTokens: 16_000,
  /**
   * Tokens of one function, where not all functions fit whole: a quarter of all, so that the largest leaves room for others. What is larger is cut in
   * depth, and `describe_function` gives the rest.
   */
  functionTokens: 4_000,
  /** Functions that are offered when there are too many; with more, models choose worse. */
  chosenFunctions: 40,
  /**
   * Up to this many functions of this size, one request selects functions and arguments. With more, a first request selects names: they take a sixth
   * of the tokens, and most chats need no function at all. 4,000 tokens take a small model without a graphics card half a minute to read.
   */
  selectedAtOnce: 20,
  selectedAtOnceCharacters: 16_000,
  /** Calls that the schema of a selection allows: a small model that is constrained to a schema may otherwise never end its list. */
  selectedCalls: 16,
  /** Characters of the schema of a selection; building a grammar of more takes longer than the answer. */
  selectionFormCharacters: 40_000,
  /** Characters of an answer that are searched for a selection: one call with the longest arguments fits. */
  selectionCharacters: 300_000,
  /** Characters of unlabelled text that `react` buffers, because it may turn out to be a thought before an action. */
  unlabelledCharacters: 400,
  /** Characters after an action in `react`, which are invented: then the stream of a backend without stop sequences is closed. */
  inventedCharacters: 400,

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
  /** How often an identical call runs in one run without a new result; the next one gets an explanation instead. */
  identicalCalls: 2,
  /** Consecutive rounds in which no call could run. They do not count as rounds, so they have their own limit. */
  reasksInARow: 2,
  /** After this time no further round starts: no client waits longer. */
  toolPhaseMs: 30 * 60 * 1000,
  /** Total time of one call, whatever progress it reports (default of `TOOL_TOTAL_TIMEOUT_MS`). */
  toolTotalTimeoutMs: 300_000,
  /** Delay before a call without an effect is retried: a restarting server needs a moment. */
  toolRetryDelayMs: 250,
  /** Progress events of one call; a tool that reports more is in a loop. */
  progressEventsPerCall: 1_000,
  /** Lines about what an answer is doing, for Open WebUI, which stores each with its message and writes the whole message anew. */
  statusChanges: 100,
  /** What a function may say to the user in one call: many pages. The model reads it, too. */
  saidCharacters: 64 * 1024,
  /** How long results of calls made alongside a caller's own functions are kept for the caller's next request. */
  continuationMs: 60 * 60 * 1000,
  continuations: 1_000,
  continuationsCharacters: 64 * 1024 * 1024,
  /** Turns with calls, from the end of a history, for which stored results are looked up; a chat has fewer in an hour. */
  continuationsPerRequest: 256,

  // Tool results

  /** Size of one tool result for a model; more would fill any context window. */
  toolResultBytes: 256 * 1024,
  /** Part of a result that a model of unknown context size reads at once: about 25,000 tokens. It reads the rest with `read_result`. */
  modelResultBytes: 100_000,
  /** Size of a result that the gateway accepts, to truncate and store it. */
  keptResultBytes: 4 * 1024 * 1024,
  /** JSON with more values is kept as text, because a dozen steps between server and model traverse each value. */
  resultValues: 20_000,
  /** Truncated results that one run stores for `read_result`. */
  keptResultsCharacters: 8 * 1024 * 1024,
  keptResults: 64,
  /** Of one call, retries included: more of them say nothing new to the person who looks at them. */
  recordedRequests: 8,
  /** Of a body that is shown to a person, who reads no more of it. */
  recordedBodyCharacters: 100_000,
  /** Results of functions with `cacheTtlMs`, over all callers. */
  cachedResults: 1_000,
  cachedResultsCharacters: 16 * 1024 * 1024,
  /** Results of calls with longer arguments are not cached. */
  cacheKeyCharacters: 4_096,
  /** Files that are taken out of one result; further ones stay in its text. A client shows each of them. */
  resultFiles: 1_000,
  /** A file in an event, as a `data:` URI: large enough for a picture, not for an archive. */
  eventFileCharacters: 1_400_000,

  // Functions, toolsets and hooks of operators

  /** Loading one module of `tools_dir` or of a hook, including its top-level `await`. */
  moduleLoadMs: 10_000,
  /** The first chats wait this long for the modules; slower ones are added later. */
  modulePatienceMs: 2_000,
  /** Modules in `tools_dir`; with more, the path is most likely wrong. */
  toolModules: 500,
  /** Functions and toolsets of one module. */
  functionsPerModule: 200,
  /** `setup` of a toolset, such as opening a connection. */
  toolsetSetupMs: 30_000,
  /** `close` of a toolset; after it the toolset counts as closed in any case. */
  toolsetCloseMs: 5_000,
  /** `isEnabled` of a function; every chat waits for the slowest. */
  enablementMs: 1_000,
  /** Concurrent threads of functions with `worker: true`; more would only compete for cores. */
  functionThreads: 4,
  functionThreadMegabytes: 512,
  /** Default time limit of a hook; every chat waits for it. */
  hookMs: 5_000,
  hooks: 50,
  /** Size of an answer that is buffered until `afterModel` has checked it. */
  heldAnswerCharacters: 4 * 1024 * 1024,
  /** State that the functions of one chat may store. */
  stateKeys: 100,
  stateCharacters: 64 * 1024,
  /** Chats with state in memory; the least recently used are evicted first. */
  stateChats: 10_000,
  stateTotalCharacters: 32 * 1024 * 1024,
  /** Stored state of all chats, encrypted. */
  stateLastingCharacters: 64 * 1024 * 1024,
  /** Chats whose tools, instructions or preset functions and hand-offs have changed; beyond it the oldest changes are deleted, and these chats go on as their requests say. */
  chatConfigs: 10_000,
  /** Size of all of them, encrypted. */
  chatConfigsCharacters: 32 * 1024 * 1024,
  /** How long such a change is stored: as long as state. */
  chatConfigMs: 30 * 24 * 60 * 60 * 1000,
  /** How long state is stored after its last write: as long as a stored chat. */
  stateMs: 30 * 24 * 60 * 60 * 1000,

  // Backends

  connectTimeoutMs: 5_000,
  /** Connections to one backend or tool server (default of `UPSTREAM_MAX_CONNECTIONS`): a thousand streams. Each takes a file descriptor. */
  connectionsPerOrigin: 1_024,
  /** A backend that takes longer to list its models is left out of the list, which the caller gets in time. */
  modelListTimeoutMs: 2_000,
  /** How long a model list is cached. */
  modelListTtlMs: 30_000,
  /** How long it is remembered what a backend refused: it may have been updated since. */
  lessonMemoryMs: 60 * 60 * 1000,
  /** What is remembered of the refusals of all backends; most gateways learn a handful of things. */
  rememberedLessons: 1_000,
  rememberedLessonCharacters: 4 * 1024 * 1024,
  /** One SSE or NDJSON line of a backend. */
  upstreamLineBytes: 1024 * 1024,
  /** Values in one line of a stream; most have a dozen. Parsing this many takes 10 ms. */
  upstreamLineValues: 20_000,
  /** Bytes of a stream that are read in one turn of the event loop: a hundred chunks. */
  upstreamSliceBytes: 16 * 1024,
  /** All of one streamed answer; images as data URIs fit. */
  upstreamAnswerBytes: 64 * 1024 * 1024,
  /** A whole JSON answer that is not streamed. */
  upstreamJsonBytes: 16 * 1024 * 1024,
  /** Values in it: a list of seven hundred models with all their details, or two thousand tokens with their probabilities. */
  upstreamAnswerValues: 50_000,
  /** A JSON answer that is passed on unchanged: two thousand embeddings with fifteen hundred numbers each, or ten images. */
  passedJsonBytes: 64 * 1024 * 1024,
  /** An error page of a backend: enough to find its message. */
  upstreamErrorBytes: 64 * 1024,

  // OpenAPI documents

  /** The largest of the real documents that were measured, GitHub's, has 13 MB. */
  documentBytes: 16 * 1024 * 1024,
  /** No real document is deeper; every recursive function over documents stops here. */
  documentDepth: 200,
  /** Files of one document; the largest real one consists of 290. */
  documentFiles: 1_000,
  /** A tool server's document must arrive within this time. */
  documentTimeoutMs: 10_000,
  /** Parsing and converting it, its files included: ten times what the largest real one takes. */
  documentReadingMs: 30_000,
  /** How often an opened server's document is checked for changes. Most servers answer with a 304, which costs nothing. */
  documentRefreshMs: 10 * 60 * 1000,
  /** A chat waits this long for a registered tool server to open; its functions are offered once it is open. */
  serverPatienceMs: 2_000,
  /** Registered servers that are opened at the same time, and as many that somebody waits for: each takes some file descriptors, a process more. */
  serversOpenedAtOnce: 32,
  /** Operations of one document. */
  operations: 10_000,
  /**
   * The whole schema of one function, as JSON: six times the largest in real documents, Kubernetes'. What is beyond it takes any value. Building
   * this much takes 20 ms.
   */
  functionCharacters: 1_000_000,
  /** Schemas of one document that are kept as they were built, in tokens: a few chats' worth of functions. */
  builtSchemasTokens: 500_000,
  /**
   * One document of a registered server (`ConversionBudget` says what each of the three counts), against hostile ones: no real document takes a
   * tenth of it. At worst ten seconds in a thread.
   */
  registeredNodes: 8_000_000,
  registeredValues: 5_000_000,
  registeredCharacters: 32_000_000,
  /** All documents of one request, which any caller may send: half a second of a thread at worst, and enough for all functions of the largest real ones. */
  requestNodes: 300_000,
  requestValues: 500_000,
  requestCharacters: 6_000_000,
  /** What is converted on the main thread, which blocks everything else: 20 ms. Documents of 64 KB take a quarter of it. */
  waitedForNodes: 15_000,
  waitedForValues: 50_000,

  // MCP servers

  /** Each of two steps: connecting to an MCP server, and agreeing on a protocol version. */
  mcpConnectTimeoutMs: 10_000,
  /** The same for a process, which npm may have to fetch first. */
  mcpProcessStartMs: 60_000,
  /** Finding out whether it speaks the protocol version of 2026; older servers over stdio may not answer at all. */
  mcpProbeTimeoutMs: 5_000,
  mcpListTimeoutMs: 10_000,
  /** Connecting to an MCP server that a request supplies, and its whole list: the chat waits for it. */
  requestMcpOpenMs: 15_000,
  /** Servers of one request that are connected to at the same time, each of which may send lists of the largest size. */
  requestMcpAtOnce: 4,
  /** Pages of the tool list of such a server: a thousand tools, a hundred on a page. */
  requestMcpPages: 10,
  /** An answer to which no other limit applies; as long as tools may run at all. */
  mcpAnswerMs: 30 * 60 * 1000,
  /** A stream of notifications may be silent for long; after this it is opened anew. */
  mcpStreamIdleMs: 60 * 60 * 1000,
  /** How long to wait for an answer after the end of its stream, before the stream counts as cut off. */
  mcpCutGraceMs: 250,
  /** The tool list is requested at most once in this time, however often a server announces that it has changed. */
  mcpListPauseMs: 300,
  /** The end of a process's stderr that is kept, because it says why the process exited. */
  mcpErrorOutputBytes: 8 * 1024,
  mcpErrorOutputLines: 10,
  mcpErrorOutputLineCharacters: 300,
  /** One message of an MCP server: the largest result with its envelope, in base64. */
  mcpMessageBytes: 8 * 1024 * 1024,
  /** Values in one message, which the SDK parses and validates synchronously: a list of a thousand tools with thirty values each. */
  mcpMessageValues: 40_000,
  /** Messages that the SDK handles in one turn of the event loop, up to 0.1 ms each. */
  mcpMessagesPerTurn: 100,
  /** Notifications of one MCP server: burst and rate. Further ones are dropped. */
  mcpNotificationBurst: 2_000,
  mcpNotificationsPerSecond: 100,
  /** Consecutive dropped notifications until the connection is closed. */
  mcpDroppedNotifications: 20_000,
  /** Requests of a server, such as pings, whose answers it has not taken; then the connection is closed. All together are as long as one message. */
  mcpOpenQuestions: 1_000,
  /** Tools of one MCP server; the largest known ones have a few hundred. */
  mcpTools: 1_000,
  /** Pinned definitions of one server, including those of removed tools. */
  mcpPins: 2_000,
  /** Of the pinned definitions of one server, as JSON, so that a changed one can be compared; beyond that only their hashes are kept. */
  mcpPinnedCharacters: 1024 * 1024,
  /** The specification allows 128; some servers have longer ones. */
  mcpNameCharacters: 256,
  /** A description is read by the model in every round; longer ones are manuals, or an attack. */
  mcpDescriptionCharacters: 4_000,
  /** Of the title and the description of a tool, these are compared with what was first seen; hashing megabytes takes 100 ms. */
  mcpComparedCharacters: 64 * 1024,
  /** The schemas of all tools of one server, against hostile ones: as many as a document may have. One message has at most half of it. */
  mcpSchemasBytes: 16 * 1024 * 1024,
  /** Parts of one result. */
  mcpContentBlocks: 1_000,
  /** A progress message. */
  mcpStatusCharacters: 500,
  /** The URI of a resource, or the template of one: as long as browsers take URLs. */
  mcpUriCharacters: 2_048,
  /** Resources, templates or prompts in one page of the gateway's own list: checking as many takes ten milliseconds. */
  mcpContentsPerPage: 500,
  /** Pages of one MCP server in such a list, against one whose list never ends: ten thousand entries in pages of ten. */
  mcpContentsPages: 1_000,
  /** Sessions of MCP clients that can be asked: an application has one for each of its windows. Beyond it a caller's least recently used one ends. */
  mcpSessionsPerCaller: 32,
  /** Each holds a server of the SDK, of about 30 KB. */
  mcpSessions: 1_000,
  /** How long a session lasts after its last request: a window stays open over night. */
  mcpSessionIdleMs: 24 * 60 * 60 * 1000,
  /** Calls of one caller that wait for an answer in another request. */
  mcpParkedCallsPerCaller: 16,
  mcpParkedCalls: 1_000,
  /** Reading a resource and getting a prompt, where the connection has no time limit of its own. */
  mcpContentsMs: 60_000,

  // Websockets and sessions

  /** One websocket frame: a tool result of the largest size with its envelope. */
  socketFrameBytes: 1024 * 1024,
  /** Bytes that are buffered for a browser that does not read, before its socket is closed. */
  socketBufferBytes: 4 * 1024 * 1024,
  /** A browser has one, an application a few; each holds a session with its calls. */
  socketsPerCaller: 16,
  /** Of a key with all the people for whom it speaks: a large team, with a page each. */
  socketsPerKey: 1_024,
  /** Active chats of one session; more is a loop in the page. */
  chatsPerSession: 16,
  /** Chats that one caller may start over all its sockets within sixty seconds; more is a program that should use HTTP. */
  socketMessagesPerMinute: 600,
  /** Frames from one socket; a browser that runs many tools at once stays far below. */
  socketFramesPerSecond: 400,
  /** Bytes that one socket may send: rate and burst. A socket that sends more is read more slowly. */
  socketBytesPerSecond: 1024 * 1024,
  socketBurstBytes: 4 * 1024 * 1024,
  /** The same for all sockets of one caller. */
  callerSocketBytesPerSecond: 4 * 1024 * 1024,
  callerSocketBurstBytes: 8 * 1024 * 1024,
  /** Time to authenticate on a socket that was opened without a credential. */
  socketAuthTimeoutMs: 5_000,
  /** How long a session waits for its browser to come back. */
  sessionGraceMs: 30_000,
  /** How long a conversation over a socket can be continued after its last message: the next morning too. Nobody has asked to store it for longer. */
  conversationMs: 24 * 60 * 60 * 1000,
  /** Beyond these its oldest exchanges are dropped: no model's context holds more. */
  conversationMessages: 1_000,
  conversationCharacters: 2 * 1024 * 1024,
  /** All kept conversations, encrypted. Beyond it whoever has the most loses the oldest ones. */
  conversations: 10_000,
  conversationsCharacters: 128 * 1024 * 1024,
  /** How long a message with `interrupt` waits for the end of the chat that it cancels: functions may be in critical sections. */
  interruptMs: 30_000,
  /** Elicitations that one session may have open; more is a tool in a loop. */
  elicitationsPerSession: 64,

  // The log of runs

  /** How long usage by day is kept, and people who do nothing are known: a quarter of a year, as accounts are settled. */
  usageDays: 90,
  /** How long a run can be read after its end (`GET /api/runs`). */
  runLogMs: 24 * 60 * 60 * 1000,
  /** Seven a minute for a day. Beyond it the oldest are deleted, because the log must never crowd out what is registered. */
  loggedRuns: 10_000,
  /** Size of all logged runs, mostly tool results: an eighth of the largest database. */
  loggedRunsCharacters: 128 * 1024 * 1024,
  /** One text within a logged event: enough to follow the run. The model reads the whole text. */
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
  /** Runs in memory while the store cannot be written. */
  unsavedRuns: 5_000,
  /** Runs in one page of the list. */
  runsPerPage: 200,
  /** Runs that are looked through for one page, because filters may fit none of them and reading blocks the event loop: a few milliseconds. */
  searchedRuns: 1_000,
  /** Names of functions, and of servers, by which a run is found in the list. */
  listedNames: 32,

  // Recorded prompts and answers (`RECORD_PROMPTS`), which are stored beside the log, so that they never displace its events

  /** One text of a prompt or answer: fifty pages. */
  recordedTextCharacters: 100_000,
  /** One prompt, and one answer: a context of a hundred thousand tokens. More would hold up the gateway while it is encrypted. */
  recordedPromptCharacters: 400_000,
  /** All prompts and answers of one run, which are read together; later ones are left out. */
  recordedRunCharacters: 4 * 1024 * 1024,
  /** All recorded prompts, encrypted: an eighth of the largest database. */
  recordedPrompts: 20_000,
  recordedPromptsCharacters: 128 * 1024 * 1024,
  /** Recorded prompts of one caller in memory while the store is slow; beyond it they are left out. */
  unsavedPromptsCharacters: 4 * 1024 * 1024,

  // Approvals and suspended runs

  /** How long an approval token is valid and its run waits: a day, so that a decision can be made the next morning. */
  approvalTokenMs: 24 * 60 * 60 * 1000,
  /** Suspended runs of one caller; nobody decides more of them. */
  waitingRunsPerCaller: 200,
  /** With this many waiting runs, a run that failed after its decisions is not stored for a retry: retries must not crowd out decisions. */
  retriedRunsPerCaller: 100,
  /** A suspended run, as JSON: the largest body with the results that a run may store. */
  waitingRunCharacters: 24 * 1024 * 1024,
  /** All suspended runs together, encrypted: a quarter of the largest database. */
  waitingRunsCharacters: 256 * 1024 * 1024,
  /** Decisions that apply to the rest of a chat, over all callers. Beyond it the oldest are deleted, and users are asked again. */
  rememberedApprovals: 10_000,
  /** Size of all stored decisions, encrypted: far more than one word each takes. */
  rememberedApprovalsCharacters: 4 * 1024 * 1024,
  /** In a chat that continues the next day, the user is asked again. */
  rememberedApprovalMs: 24 * 60 * 60 * 1000,
  /** A human's message on a rejection, which the model reads. */
  approvalMessageCharacters: 4_000,
  /** Of a request for approval in the Responses API. Ours have about sixty characters; what is longer is none of ours. */
  approvalRequestIdCharacters: 256,
  /** How long what a suspended run did is kept: a chat may go on weeks later, and its history has only the link. As long as stored state. */
  transcriptMs: 30 * 24 * 60 * 60 * 1000,
  transcripts: 5_000,
  transcriptsCharacters: 128 * 1024 * 1024,
  /** What one run did. If it is larger, its results are shortened; if that is not enough, it is forgotten. */
  transcriptCharacters: 512 * 1024,
  shortenedResultCharacters: 4_000,
  /** Messages with links, from the end of a history, for which it is looked up. Each takes a millisecond or two. */
  transcriptsPerRequest: 32,
  /** How often a session is asked about one call while edited arguments do not match the schema, or hooks change them. */
  approvalTries: 3,
  /** How often one call has its caller connect, to a server that refuses what they have given. */
  connectTries: 3,
  /** The id of a waiting call is part of the URL of its decision; some backends put kilobytes of signatures into call ids. */
  waitingCallIdCharacters: 256,
  /** How long a decision waits for the end of the answer that requested it. */
  approvalHandoverMs: 5_000,

  /** Texts that wait to be written to the database: more than a disk takes in a second. Beyond it whoever has the most waiting is refused. */
  queuedWritesCharacters: 64 * 1024 * 1024,

  // Stored chats (`STORE_CHATS`)

  /** How long a chat with `store: true` is stored: as long as OpenAI stores one. */
  storedChatMs: 30 * 24 * 60 * 60 * 1000,
  /** A chat every nine minutes of that time; beyond it a caller's oldest are deleted. */
  storedChatsPerCaller: 5_000,
  /** Size of one caller's chats: one caller must not fill the store that all share. */
  storedCharactersPerCaller: 64 * 1024 * 1024,
  /** A quarter of the largest database, over all callers. */
  storedChatsCharacters: 256 * 1024 * 1024,
  /** One stored chat with its request. If it is larger, images are left out; if its texts alone are larger, it is not stored. */
  storedChatCharacters: 2 * 1024 * 1024,
  /** Keys and values of `metadata`, as OpenAI limits them. */
  metadataEntries: 16,
  metadataKeyCharacters: 64,
  metadataValueCharacters: 512,
  /** Stored chats, or messages of one, in one page. */
  chatsPerPage: 100,
  /** Size of one page, which is shorter if its chats are large: parsing and writing a megabyte takes ten milliseconds. */
  chatPageCharacters: 2 * 1024 * 1024,
  /** Hits of one search; a model reads all of them. */
  foundChats: 20,

  // Credentials of people for tool servers

  /** Of a key with all its people: thousands of people with a few servers each. Beyond it new ones are refused, because nobody's may be lost. */
  credentialsPerKey: 20_000,
  /** A personal access token has a hundred, a signed token some thousands. */
  credentialCharacters: 4_096,
  /** Metadata, registration and tokens of an authorization server take far less, in time and size. */
  oauthAnswerMs: 10_000,
  oauthAnswerBytes: 1024 * 1024,
  /** Values in one such answer: far more than the metadata of the largest provider has, and parsing them takes some milliseconds. */
  oauthAnswerValues: 5_000,
  /** A token that is a signed document with many claims has some thousands. It is stored for each person, and sent with every call. */
  oauthTokenCharacters: 16_384,
  /** A token is refreshed this long before it expires, so that none expires on its way. */
  oauthRefreshAheadMs: 30_000,
  /** One process has this long to refresh a token before another tries: longer than any answer takes. */
  oauthLeaseMs: 15_000,
  /** For all tokens of a deletion together; those that are not revoked by then expire by themselves. */
  oauthRevocationMs: 15_000,
  /** Registrations with authorization servers: far more than an operator connects to. Beyond it the oldest is forgotten, and made again when needed. */
  oauthClients: 1_000,
  /** How long a link to connect is good: a day, as one to decide. */
  signInLinkMs: 24 * 60 * 60 * 1000,
  /** How long a sign-in at an authorization server may take. */
  signInStateMs: 10 * 60 * 1000,
  /** From the page of a link to the return from the authorization server: a person types a password, and a code from their telephone. */
  signInMs: 10 * 60 * 1000,
  /** Links of one caller. Each chat that waits has one; beyond it the oldest ends. */
  signInsPerCaller: 50,
  /** Links over all callers; the key with the most loses its oldest. */
  signIns: 10_000,
  /** Size of all of them, encrypted: far more than a verifier and a few addresses each take. */
  signInsCharacters: 32 * 1024 * 1024,
  /** How long somebody stays signed in to the console at most, however long the provider lets tokens be refreshed: a week of work. */
  loginMs: 7 * 24 * 60 * 60 * 1000,
  /** A token of the console is refreshed this long before it ends, or at half of its life: later than that its page asks for a new one. */
  loginRefreshAheadMs: 60_000,
  /** Browsers in which somebody is signed in; whoever has the most loses the oldest. */
  logins: 10_000,
  /** Size of all of them, encrypted: three tokens of some thousand characters for each. */
  loginsCharacters: 64 * 1024 * 1024,
  /** Sessions with MCP servers that were opened with people's own credentials; whoever has the most loses the one used longest ago. */
  ownMcpSessions: 500,
  /** Such a session is closed when nobody has used it for this long: a pause in a conversation. */
  ownMcpSessionIdleMs: 15 * 60 * 1000,

  // Stored responses (`STORE_CHATS`), which are kept as long as stored chats

  /** As many as stored chats; beyond it those that a caller used longest ago are deleted. */
  storedResponsesPerCaller: 5_000,
  /** Size of one caller's responses, encrypted: one caller must not fill the store that all share. */
  storedResponsesCharactersPerCaller: 64 * 1024 * 1024,
  /** An eighth of the largest database, over all callers. */
  storedResponsesCharacters: 128 * 1024 * 1024,
  /** One response with the input of its request, as JSON. If it is larger, images and files are left out; if its texts alone are larger, it is not stored. */
  storedResponseCharacters: 2 * 1024 * 1024,
  /** Responses that one may build on, each on the one before: a conversation of years. */
  responseHistory: 1_000,
  /** All of them, as JSON: no model's context holds more, and more would hold up the gateway. */
  responseHistoryCharacters: 2 * 1024 * 1024,
  /** Responses of one caller that run in the background at the same time; more is a loop in a program. */
  backgroundResponsesPerCaller: 64,
  /** Of a key with all its people; each holds its answer in memory. */
  backgroundResponsesPerKey: 256,
  /** Events of all responses that stream in the background, in memory, for readers that come back: ten thousand pages. Whoever has the most loses the oldest. */
  backgroundEventsCharacters: 64 * 1024 * 1024,
  /** How long these are there after the end of a response; later readers get its last event. */
  backgroundEventsMs: 5 * 60 * 1000,
} as const;
