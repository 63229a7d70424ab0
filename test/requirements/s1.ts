import type { Requirement } from './requirement.ts';

/** Native calls, several rounds, streaming over HTTP and the websocket, the shape of the history, and the other modes. */
export const streamingRequirements: Requirement[] = [
  {
    id: 'S1-1',
    behaviour:
      'In mode `native` the functions travel in the backend’s own `tools` field and no prompt is added; the model decides whether and which to call.',
    status: 'verified',
    tests: [
      'test/requirements/wire.test.ts > a question to a backend > holds the functions in its own field, in the form that backends know, and no prompt',
    ],
  },
  {
    id: 'S1-2',
    behaviour:
      'A model may call in several rounds, each with the results of the round before, and its first answer without a call is the answer of the run.',
    status: 'verified',
    tests: [
      'test/requirements/loop.test.ts > a run > asks with the functions, hands the results back, and asks again until an answer holds no call',
    ],
  },
  {
    id: 'S1-3',
    behaviour: 'Text and reasoning are streamed as they arrive and kept apart, and results of tools show while the run still goes on.',
    status: 'verified',
    tests: [
      'test/requirements/wire.test.ts > an answer > is streamed as it arrives, text apart from reasoning, and results of tools show while the run goes on',
    ],
  },
  {
    id: 'S1-4',
    behaviour:
      'The history sent to a backend stays well formed: an assistant message with calls is followed by one tool message for each of them.',
    status: 'verified',
    tests: [
      'test/requirements/wire.test.ts > the history that a backend gets > has after an assistant message with calls one tool message for each of them',
    ],
  },
  {
    id: 'S1-5',
    behaviour: 'The rounds of one answer are limited to ten unless a setting, a preset or the request says otherwise.',
    status: 'verified',
    tests: [
      'test/requirements/presets.test.ts > a preset > is a model with a role, tools, parameters and limits of its own, which a request may replace',
      'test/requirements/presets.test.ts > a preset > may set the rounds that are ten otherwise, and the request has the last word',
    ],
  },
  {
    id: 'S1-6',
    behaviour:
      'At the limit the run does not end after bare results: a `limit.reached` event says so, and one last round without tools gives an answer.',
    status: 'verified',
    tests: [
      'test/chat/loop/run-chat.test.ts > the rounds end with one answer without tools and say that the limit was reached',
      'test/chat/loop/run-chat.test.ts > a backend that refuses the last round without tools gets them with tool_choice none',
    ],
  },
  {
    id: 'S1-7',
    behaviour:
      'A chat can be started over the websocket with a `message` frame; the answer streams back on it, and its session executes the browser tools.',
    status: 'verified',
    tests: [
      'test/requirements/socket.test.ts > a message frame starts a chat whose answer streams back on the socket, and whose tools its browser executes',
    ],
  },
  {
    id: 'S1-8',
    behaviour:
      'A backend is sent the model’s own name, the messages, `stream`, the functions and the model parameters, known or unknown, and nothing of the gateway’s own fields.',
    status: 'verified',
    tests: [
      'test/requirements/wire.test.ts > a question to a backend > holds the model’s own name, the messages, stream, functions and parameters, and nothing else',
    ],
  },
  {
    id: 'S1-9',
    behaviour:
      'Fragments of a streamed call are put together before it counts, while text of the same stream is passed on without waiting.',
    status: 'verified',
    tests: [
      'test/requirements/wire.test.ts > an answer > with a call in fragments has its text passed on at once, and the call counts when it is whole',
    ],
  },
  {
    id: 'S1-10',
    behaviour: 'Text that a model writes before its calls is streamed to the client and stands in the history beside the calls.',
    status: 'verified',
    tests: ['test/chat/loop/run-chat.test.ts > text before a call is kept in the answer and in the history'],
  },
  {
    id: 'S1-11',
    behaviour: 'A model’s arguments are taken as raw text and parsed by the gateway; empty text means no arguments.',
    status: 'verified',
    tests: [
      'test/requirements/loop.test.ts > a call > has an empty text for no arguments',
      'test/requirements/loop.test.ts > a call > with arguments that are no JSON or break the schema does not run, and the model reads why',
    ],
  },
  {
    id: 'S1-12',
    behaviour: 'A tool message bears `role: "tool"`, the `tool_call_id` of its call, the function’s `name` and the result as `content`.',
    status: 'verified',
    tests: [
      'test/requirements/wire.test.ts > the history that a backend gets > has each result under the id of its call and the name of its function',
    ],
  },
  {
    id: 'S1-13',
    behaviour: 'An assistant message that has calls and no text is sent with `content: null`.',
    status: 'verified',
    tests: ['test/requirements/wire.test.ts > the history that a backend gets > has content: null beside calls without a text'],
  },
  {
    id: 'S1-14',
    behaviour:
      'Arguments stand in the history as one JSON text. What could not be parsed is replaced there, so that it cannot break every later question.',
    status: 'verified',
    tests: [
      'test/requirements/wire.test.ts > the history that a backend gets > has arguments as one JSON text, and an empty object for those that could not be parsed',
      'test/chat/loop/run-chat.test.ts > malformed arguments are not run, are told to the model, and go back into the history as valid JSON',
    ],
  },
  {
    id: 'S1-15',
    behaviour:
      'A backend gets each function as `{type: "function", function: {name, description, parameters}}`, with `required` inside the parameters.',
    status: 'verified',
    tests: [
      'test/requirements/wire.test.ts > a question to a backend > holds the functions in its own field, in the form that backends know, and no prompt',
    ],
  },
  {
    id: 'S1-16',
    behaviour:
      'The mode is chosen for each request: `function_call` means `native`, `react` asks for reasoning rounds, `simple` allows at most one call; an unknown one is a 400.',
    status: 'verified',
    tests: [
      'test/requirements/modes.test.ts > the way of a request > is each of the modes by each of its names over HTTP, and one call runs',
      'test/requirements/modes.test.ts > the way of a request > is each of the modes by each of its names over the socket',
      'test/requirements/modes.test.ts > the way of a request > simple allows one call, whatever the model can do',
      'test/requirements/modes.test.ts > the way of a request > that is unknown is a 400 that names the known ones',
    ],
  },
  {
    id: 'S1-17',
    behaviour:
      'A chat over the websocket speaks in `assistant_start`, `assistant_chunk`, `tool_calls_start`, `tool_call` and `assistant_end` frames.',
    status: 'verified',
    tests: ['test/http/dialects/socket/socket-chats.test.ts > a chat over the socket > answers in the frames of the contract, in order'],
  },
  {
    id: 'S1-18',
    behaviour:
      'Those frames keep their order: start, chunks, the announced calls, one frame for each result, further rounds alike, and the end exactly once.',
    status: 'verified',
    tests: [
      'test/requirements/socket.test.ts > the frames of a chat keep their order over several rounds, and the end comes once',
      'test/http/dialects/socket/socket-chats.test.ts > a chat over the socket > answers in the frames of the contract, in order',
    ],
  },
  {
    id: 'S1-19',
    behaviour:
      'Mode `react` gives tools to models without native calls by thought, action and observation in plain text; the thoughts are streamed as reasoning.',
    status: 'verified',
    tests: [
      'test/requirements/modes.test.ts > thought and action > give functions to a model without native calls, in plain text, and its thoughts are streamed as reasoning',
      'test/chat/modes/react/reason-and-act.test.ts > steps of thought and action > go in rounds: each action runs, its result is an observation, and the final answer is the text',
    ],
  },
  {
    id: 'S1-20',
    behaviour:
      'A cancelled run asks no further question and starts no further call: what is under way at a backend or tool server is aborted, and the run ends as cancelled.',
    status: 'verified',
    tests: [
      'test/http/runs.test.ts > cancelling a run > aborts the calls that are under way, starts none that waits, and asks no further question',
      'test/http/runs.test.ts > cancelling a run > aborts the question that is under way',
    ],
  },
  {
    id: 'S1-21',
    behaviour: 'A function that fails does not fail the request: the model reads the error as the result of that call and answers.',
    status: 'verified',
    tests: [
      'test/requirements/loop.test.ts > a failing call > does not fail the request: the model reads the error as its result and answers',
    ],
  },
  {
    id: 'S1-22',
    behaviour:
      'Calls of one round that only read, or are marked `sequential: false`, run side by side; every other one runs alone, in its place.',
    status: 'verified',
    tests: [
      'test/requirements/functions.test.ts > calls of a round whose order does not matter run side by side, and a sequential function beside none of them',
    ],
  },
  {
    id: 'S1-23',
    behaviour: 'A function with `cacheTtlMs` is not executed again for equal arguments of the same caller within that time.',
    status: 'verified',
    tests: [
      'test/requirements/functions.test.ts > a function with cacheTtlMs is not executed again for equal arguments of the same caller within that time',
    ],
  },
  {
    id: 'S1-24',
    behaviour:
      'What happened in a run can be read afterwards at `GET /api/runs/{id}`: every question, call, result and limit with its time.',
    status: 'verified',
    tests: [
      'test/requirements/questions.test.ts > the log of a run has every question and its answer > in a plain chat',
      'test/requirements/questions.test.ts > the log of a run has every question and its answer > over the rounds of the native loop, with the names on offer where they are new',
      'test/requirements/questions.test.ts > the log of a run has every question and its answer > of the selection in `default`, of its repair, and of the answer',
      'test/requirements/questions.test.ts > the log of a run has every question and its answer > of the steps of `react`, and of a stop that the backend refuses',
      'test/requirements/questions.test.ts > the log of a run has every question and its answer > of the last round, without functions, and again with them for a backend that misses them',
      'test/requirements/questions.test.ts > the log of a run has every question and its answer > of the native one that the backend refuses, and of the selection instead',
      'test/requirements/questions.test.ts > the log of a run has every question and its answer > that fails amid its answer, with functions and without, in the words that the client gets',
    ],
  },
  {
    id: 'S1-25',
    behaviour:
      'Whoever wonders why no tool was called finds the answer in the run: its mode, the functions on offer, what was selected and dropped, and warnings.',
    status: 'verified',
    tests: [
      'test/http/runs.test.ts > a run that has ended > tells why no tool was called: mode, functions on offer, what was selected and dropped, and warnings',
    ],
  },
  {
    id: 'S1-26',
    behaviour:
      'A model that repeats the very same call over and over, to the same result, is told so (`duplicate_call_blocked`) instead of being served until the rounds run out; one that asks until a job is done is served.',
    status: 'verified',
    tests: [
      'test/requirements/loop.test.ts > a call > that a model repeats over and over is answered with an explanation, and the answer comes before the rounds run out',
      'test/chat/loop-limits.test.ts > asking again and again until a job is done is no circle: each answer was another one',
      'test/chat/loop-limits.test.ts > the very same call runs twice, the third time it is answered with an explanation, and other arguments still run',
    ],
  },
  {
    id: 'S1-27',
    behaviour: 'The model list shows what each model is able to do as far as its backend says it, and `auto` chooses the mode by it.',
    status: 'verified',
    tests: [
      'test/requirements/models.test.ts > the model list shows what a model can do as far as it is known, and auto chooses the mode by it',
    ],
  },
  {
    id: 'S1-28',
    behaviour: 'The report on a tool server names functions whose definition gives a model little to go by, such as a missing description.',
    status: 'verified',
    tests: [
      'test/requirements/limits-and-reports.test.ts > the report on a tool server > names functions that give a model little to go by',
    ],
  },
];
