import { bodyLimits } from './body-limits.ts';
import { conversionLimits } from './conversion-limits.ts';
import { keptRunLimits } from './kept-run-limits.ts';
import { storedChatLimits } from './stored-chat-limits.ts';

/**
 * What callers, models, servers and operators can run into, in one place, each with its reason. Settings may override those that `config.ts`
 * names. What bounds the inner work of one file, and is seen nowhere else, stands in that file.
 */
export const limits = {
  ...bodyLimits,
  ...conversionLimits,
  /** A chat of years has fewer messages; more only burns memory per request. */
  messages: 5_000,
  /** OpenAI and its imitators refuse more functions than this in one request. */
  toolsPerRequest: 128,
  /** Functions that are offered to a model beside the caller's own: providers refuse more than 128 in all. */
  offeredFunctions: 128,
  /** Tokens of all offered functions: half the context of a small local model. Above it the ones that fit the conversation are chosen. */
  offeredTokens: 16_000,
  /** Functions that are chosen when there are too many: with more, models choose worse. */
  chosenFunctions: 40,
  /** Further servers one request may bring along. */
  toolServersPerRequest: 64,
  /** Up to here functions and arguments are chosen by one question; with more, a small model reads little but schemas, so the names come first. */
  selectedAtOnce: 20,
  /** Calls that the form of a selection allows: a small model that is held to a form may otherwise never end its list. */
  selectedCalls: 16,
  /** Characters of the form of a selection; building a grammar of more takes longer than the answer. */
  selectionFormCharacters: 40_000,
  /** Characters of an answer that are searched for a selection: one call with the longest arguments fits. */
  selectionCharacters: 300_000,
  /** Text without a label that is held back in `react`, because it may turn out to be a thought before an action. */
  unlabelledCharacters: 400,
  /** What a model writes behind its action in `react` is invention; a backend without stop sequences is left after this much. */
  inventedCharacters: 400,
  /** How long it is remembered which form of structured output a backend takes for a model. */
  outputFormMemoryMs: 60 * 60 * 1000,
  /** Schemas for which that is remembered, of one backend, each with its model. */
  outputForms: 1_000,
  /** A single call's arguments: a model that streams more is stuck in a loop. */
  argumentsBytes: 256 * 1024,
  /** What one tool result may hand to a model; more would fill any context window. */
  toolResultBytes: 256 * 1024,
  /** What a model reads of one result where its context is not known: about 25,000 tokens. It reads on by a reference. */
  modelResultBytes: 100_000,
  /** What a tool may return for the runtime to cut and keep. */
  keptResultBytes: 4 * 1024 * 1024,
  /** JSON of more values stays the text that the server sent: each value is looked at by a dozen steps between the server and the model. */
  resultValues: 20_000,
  /** Results kept for reading on, over one run. */
  keptResultsCharacters: 8 * 1024 * 1024,
  keptResults: 64,
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
  /** Signs of progress of one call that are shown; a tool that tells more is in a loop. */
  progressEventsPerCall: 1_000,
  /** Results of functions with `cacheTtlMs`, over all callers. */
  cachedResults: 1_000,
  cachedResultsCharacters: 16 * 1024 * 1024,
  /** Longer arguments are not worth their place in the cache. */
  cacheKeyCharacters: 4_096,
  /** Loading one module of `tools_dir` or of a hook, what it waits for at its top level included. */
  moduleLoadMs: 10_000,
  /** A module that takes longer joins the others later: the first chats wait for the folder. */
  modulePatienceMs: 2_000,
  /** A registered tool server that takes longer to open joins the chats later. */
  serverPatienceMs: 2_000,
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
  /** One hook, where its entry sets no other time: it stands in the way of every chat. */
  hookMs: 5_000,
  hooks: 50,
  /** What `afterModel` has to read before anybody else sees it. */
  heldAnswerCharacters: 4 * 1024 * 1024,
  /** What the functions of one chat may remember. */
  stateKeys: 100,
  stateCharacters: 64 * 1024,
  /** Chats of which something is remembered; the ones that were not used for the longest time go first. */
  stateChats: 10_000,
  stateTotalCharacters: 32 * 1024 * 1024,
  /** The same as it outlives the process, each chat sealed. */
  stateLastingCharacters: 64 * 1024 * 1024,
  /** How long what is not written any more outlives it: as long as a stored chat. */
  stateMs: 30 * 24 * 60 * 60 * 1000,
  /** Threads of functions with `worker: true` that run at a time: more would only share the processor's cores. */
  functionThreads: 4,
  functionThreadMegabytes: 512,
  /** One SSE or NDJSON line of a backend. */
  upstreamLineBytes: 1024 * 1024,
  /** All that a backend says in one answer; images as data URIs fit. */
  upstreamAnswerBytes: 64 * 1024 * 1024,
  /** A whole JSON answer of one that does not stream. */
  upstreamJsonBytes: 16 * 1024 * 1024,
  /** Values in it: a list of seven hundred models with all that is said of them, or two thousand tokens with their probabilities. */
  upstreamAnswerValues: 50_000,
  /** An answer with embeddings, which is passed on as it came: two thousand of them with fifteen hundred numbers each. */
  embeddingsAnswerBytes: 64 * 1024 * 1024,
  /** Of a stream, what is read in one turn of the event loop: a hundred chunks. */
  upstreamSliceBytes: 16 * 1024,
  /** Values in one line of a stream; most have a dozen. Parsing so many takes ten milliseconds. */
  upstreamLineValues: 20_000,
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
  /** Parsing and converting it, its files included: ten times what the largest real one takes. */
  documentReadingMs: 30_000,
  /** Files of one document; the largest real one consists of 290. */
  documentFiles: 1_000,
  /** How often an opened server is asked whether its document has changed. Most answer with a 304, which costs nothing. */
  documentRefreshMs: 10 * 60 * 1000,
  /** Reaching an MCP server and agreeing on a protocol, each step. */
  mcpConnectTimeoutMs: 10_000,
  /** The same for a process, which npm may have to fetch first. */
  mcpProcessStartMs: 60_000,
  /** Finding out whether it speaks the protocol of 2026: old servers over pipes answer nothing. */
  mcpProbeTimeoutMs: 5_000,
  mcpListTimeoutMs: 10_000,
  /** Of what a process writes to stderr: the end, in which it says why it ended. */
  mcpErrorOutputBytes: 8 * 1024,
  mcpErrorOutputLines: 10,
  mcpErrorOutputLineCharacters: 300,
  /** What no limit of the runtime ends; as long as tools may run at all. */
  mcpAnswerMs: 30 * 60 * 1000,
  /** A stream for news may be silent for long; after this it is opened anew. */
  mcpStreamIdleMs: 60 * 60 * 1000,
  /** Between the end of a stream and the certainty that the answer was not in it. */
  mcpCutGraceMs: 250,
  /** A server that says again and again that its list has changed is asked once. */
  mcpListPauseMs: 300,
  /** One message of an MCP server: the largest result with its envelope, in base64. */
  mcpMessageBytes: 8 * 1024 * 1024,
  /** Values in it, which the SDK parses and checks in one go: a list of a thousand tools with thirty values each. */
  mcpMessageValues: 40_000,
  /** Messages that are handed to the SDK in one turn of the event loop: it takes up to a tenth of a millisecond for each. */
  mcpMessagesPerTurn: 100,
  /** Notifications of one MCP server: at once, and then in a second. Those beyond it are dropped. */
  mcpNotificationBurst: 2_000,
  mcpNotificationsPerSecond: 100,
  /** Dropped ones in a row until the connection is closed. */
  mcpDroppedNotifications: 20_000,
  /** Tools of one MCP server; the largest known ones have a few hundred. */
  mcpTools: 1_000,
  /** Definitions that are remembered of one server, those that are gone included. */
  mcpPins: 2_000,
  /** The specification allows 128; some servers have not read it. */
  mcpNameCharacters: 256,
  /** A description is read by the model in every round; longer ones are manuals, or an attack. */
  mcpDescriptionCharacters: 4_000,
  /** A schema of one tool. */
  mcpSchemaBytes: 128 * 1024,
  /** Parts of one result. */
  mcpContentBlocks: 1_000,
  /** What a server says about its progress. */
  mcpStatusCharacters: 500,
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
  /** A browser has one, an application a few; each holds a session with its calls. */
  socketsPerCaller: 16,
  /** Chats that one session may have under way; more is a loop in the page. */
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
  /** Headers are sent at the latest after this time, so that proxies in front do not give up. */
  headersDelayMs: 10_000,
  /** Comments between events while tools run or a model thinks. */
  keepAliveMs: 15_000,
  /** What the gateway executed beside a caller's own functions waits this long for the caller's answer. */
  continuationMs: 60 * 60 * 1000,
  continuations: 1_000,
  /** Turns with calls, from the end of a history, that are looked for among what is kept; nobody makes more of them in an hour. */
  continuationsPerRequest: 256,
  /** A file that stands in an event as a `data:` URI: a picture for a page, not an archive. */
  eventFileCharacters: 1_400_000,
  /** Presets that are kept: all of them are read together. */
  presets: 500,
  /** Longer prompts belong into files. */
  presetSystemCharacters: 100_000,
  /** Presets that one may hand over to: their names stand in a schema. */
  subAgents: 32,
  /** Hand-overs within one run: agents that send each other around never answer. */
  handoffs: 8,
  /** Presets that call each other as tools, one within the other. */
  presetDepth: 4,
  continuationsCharacters: 64 * 1024 * 1024,
  ...keptRunLimits,
  ...storedChatLimits,
  /** How long the token of an approval is good, and how long its run waits: a day, so that a night may lie between. */
  approvalTokenMs: 24 * 60 * 60 * 1000,
  /** Runs of one caller that wait for decisions; whoever has more decides none of them. */
  waitingRunsPerCaller: 200,
  /** With so many that wait, one that has failed is not kept any more: answers that nobody fetches must not crowd out decisions. */
  retriedRunsPerCaller: 100,
  /** A run that waits, as JSON: the largest body with the results that a run may keep. */
  waitingRunCharacters: 24 * 1024 * 1024,
  /** All of them together, encrypted: a quarter of the largest database. */
  waitingRunsCharacters: 256 * 1024 * 1024,
  /** Decisions that hold for a chat, over all callers; the oldest go first, and are asked for again. */
  rememberedApprovals: 10_000,
  /** The same as they are kept, each sealed: far more than a word takes. */
  rememberedApprovalsCharacters: 4 * 1024 * 1024,
  /** A chat that goes on the next day asks again. */
  rememberedApprovalMs: 24 * 60 * 60 * 1000,
  /** A human's words on a rejection; the model reads them. */
  approvalMessageCharacters: 4_000,
  /** How often a session is asked about one call, where the arguments that it gives do not fit. */
  approvalTries: 3,
  /** Questions that one session may have open; more is a tool in a loop. */
  questionsPerSession: 64,
  /** The id under which a call waits stands in the address of its decision; some servers put kilobytes of signatures into their ids. */
  waitingCallIdCharacters: 256,
  /** How long a decision waits for the answer that asked for it to be over. */
  approvalHandoverMs: 5_000,
  /** Runs in one page of the list. */
  runsPerPage: 200,
} as const;
