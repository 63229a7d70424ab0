import type { Requirement } from './requirement.ts';

/** One turn of a model with tools: the rounds, the way of a single call, hooks, time limits, context and events. */
export const turnRequirements: Requirement[] = [
  {
    id: 'S0-1',
    behaviour:
      'A run goes in rounds: the model is asked with the offered functions, its calls are executed, the results are handed back, and it is asked again until it answers without a call.',
    status: 'verified',
    tests: [
      'test/requirements/loop.test.ts > a run > asks with the functions, hands the results back, and asks again until an answer holds no call',
      'test/chat/loop/run-chat.test.ts > the model is asked again until it answers without a call, with its parameters in every round',
    ],
  },
  {
    id: 'S0-2',
    behaviour:
      'A `beforeModel` hook that returns an assistant message replaces the question to the backend: the message counts as its answer.',
    status: 'verified',
    tests: [
      'test/requirements/hooks.test.ts > a beforeModel hook > that returns an assistant message replaces the question to the backend; its calls are run like a model’s',
    ],
  },
  {
    id: 'S0-3',
    behaviour: 'An `afterModel` hook may return another assistant message, with other text or other calls; the run goes on with that one.',
    status: 'verified',
    tests: [
      'test/requirements/hooks.test.ts > an afterModel hook > may return other text, which is all that anybody reads',
      'test/requirements/hooks.test.ts > an afterModel hook > may return other calls, and take calls away: the run goes on with that message',
    ],
  },
  {
    id: 'S0-4',
    behaviour:
      'An answer with a call that the gateway can execute never ends the run, whatever finish reason the backend gives; one without any does. A call that was cut off by a limit or a filter is not executed.',
    status: 'verified',
    tests: [
      'test/requirements/loop.test.ts > a run > goes on after a call whatever reason the backend gives, and ends without one',
      'test/chat/loop/run-chat.test.ts > a call that was cut by the token limit is never run',
    ],
  },
  {
    id: 'S0-5',
    behaviour:
      'A function in this process states its name, description and parameters in `defineTool`. Nothing is guessed from its source text, because types are gone when it runs.',
    status: 'verified',
    tests: [
      'test/requirements/functions.test.ts > a function in this process > is offered under the name, the description and the parameters of its definition, whatever its module exports it as',
    ],
  },
  {
    id: 'S0-6',
    behaviour: 'A parameter that is optional or has a default in a zod schema is not among the `required` ones that the model reads.',
    status: 'verified',
    tests: [
      'test/requirements/functions.test.ts > a function in this process > is offered under the name, the description and the parameters of its definition, whatever its module exports it as',
      'test/tools/functions/define/define-tool.test.ts > the schema of a definition > holds what zod says of a single parameter, and requires neither what is optional nor what has a default',
    ],
  },
  {
    id: 'S0-7',
    behaviour:
      'Arguments of a near type are made to fit the schema before a function runs: `"5"` becomes 5, `"true"` becomes true, JSON text becomes the object or list that is asked for.',
    status: 'verified',
    tests: ['test/requirements/loop.test.ts > a call > has arguments of a near type made to fit the schema before its function runs'],
  },
  {
    id: 'S0-8',
    behaviour:
      'What a schema says about a single parameter (`describe` in zod, `description` in JSON Schema) reaches the model; comments in the source do not count.',
    status: 'verified',
    tests: [
      'test/requirements/functions.test.ts > a function in this process > is offered under the name, the description and the parameters of its definition, whatever its module exports it as',
      'test/tools/functions/define/define-tool.test.ts > the schema of a definition > is JSON Schema as it was written, whatever becomes of the original',
    ],
  },
  {
    id: 'S0-9',
    behaviour:
      'A function may be assembled by code with a schema of its own making, a connection it holds and its own time limit; it is offered like any other.',
    status: 'verified',
    tests: [
      'test/requirements/functions.test.ts > a function in this process > may be one of several that code has made, each with its own name, schema, bound value and time limit',
    ],
  },
  {
    id: 'S0-10',
    behaviour:
      'Defaults in the schema of a function in this process are filled in before it is executed; a tool server is left to fill in its own.',
    status: 'verified',
    tests: [
      'test/requirements/functions.test.ts > a function in this process > runs with its defaults filled in, and its result is cited under its name',
    ],
  },
  {
    id: 'S0-11',
    behaviour:
      'One request may be offered functions of OpenAPI servers, MCP servers, this process, presets and the browser side by side; the loop treats them alike.',
    status: 'verified',
    tests: [
      'test/requirements/side-by-side.test.ts > functions of an OpenAPI server, an MCP server, this process, a preset and the browser are called in one turn, and the loop treats them alike',
    ],
  },
  {
    id: 'S0-12',
    behaviour:
      'A preset with `sub_agents` is offered `transfer_to_agent` without listing it; its parameter `agent` allows exactly those presets.',
    status: 'verified',
    tests: [
      'test/requirements/presets.test.ts > a hand-over > is offered without being listed, allows exactly the sub-agents, and the conversation goes on under the other preset',
    ],
  },
  {
    id: 'S0-13',
    behaviour:
      'One failing call of a round neither stops nor delays its siblings, and the results are handed back in the order of the calls.',
    status: 'verified',
    tests: [
      'test/requirements/loop.test.ts > a failing call > neither stops nor delays its siblings, and the results stand in the order of the calls',
      'test/chat/loop/run-chat.test.ts > a failing call never harms its siblings, is told to the model, and gives no source',
    ],
  },
  {
    id: 'S0-14',
    behaviour:
      'A call goes through fixed steps: find, check the arguments, `beforeTool`, execute under the time limit, keep the changed state, `afterTool`. State is kept only after success.',
    status: 'verified',
    tests: [
      'test/requirements/hooks.test.ts > an afterTool hook > runs after the state was kept, as the last step of a call',
      'test/requirements/functions.test.ts > the state of a chat > is there at the next call of the same caller and chat, for nobody else, and is kept only after success',
    ],
  },
  {
    id: 'S0-15',
    behaviour:
      'A model can only call what was offered in this run: a registered function that was left out of the request answers `tool_not_found`.',
    status: 'verified',
    tests: [
      'test/requirements/loop.test.ts > a call > finds only what was offered in this run, not whatever is registered',
      'test/chat/loop/run-chat.test.ts > only functions offered in this run can be called, and an unknown name is answered with the candidates',
    ],
  },
  {
    id: 'S0-16',
    behaviour:
      'Each result goes back to the model under the id of its call and the name of its function, in the form of the backend’s own protocol.',
    status: 'verified',
    tests: [
      'test/requirements/wire.test.ts > the history that a backend gets > has each result under the id of its call and the name of its function',
      'test/requirements/wire.test.ts > the history that a backend gets > is written in Ollama’s words for an Ollama',
    ],
  },
  {
    id: 'S0-17',
    behaviour:
      'A result that is no object (a list, a number, a text) reaches the model too. It is handed over as it is and not wrapped into an object.',
    status: 'verified',
    tests: ['test/requirements/loop.test.ts > a result > that is no object reaches the model as it is, and is not wrapped into one'],
  },
  {
    id: 'S0-18',
    behaviour:
      'Where no native calls are used, the model reads each result as text that names the function: ``Tool `<name>` Output: <result>``.',
    status: 'verified',
    tests: [
      'test/requirements/selection.test.ts > what was selected > is appended to the last user message alone, after a blank line, under the name of its source',
      'test/chat/loop/answer-chat.test.ts > default mode asks for a selection, appends the result to the user message, and lets the model answer',
    ],
  },
  {
    id: 'S0-19',
    behaviour: 'The gateway passes the context as the second argument of `execute`; the schema that the model reads holds no trace of it.',
    status: 'verified',
    tests: [
      'test/requirements/functions.test.ts > a function in this process > gets its context from the gateway alone: an argument that a model calls context is an argument like others',
    ],
  },
  {
    id: 'S0-20',
    behaviour:
      'Through its context a function reads and writes state, knows user, chat, run, model and messages, can be aborted, can end the run with `stop()`, and can hand over with `handoff`.',
    status: 'verified',
    tests: [
      'test/requirements/functions.test.ts > a function in this process > gets its context from the gateway alone: an argument that a model calls context is an argument like others',
      'test/requirements/functions.test.ts > a function in this process > knows chat, model, files and messages, so that it can search the conversation so far',
      'test/requirements/functions.test.ts > the state of a chat > is there at the next call of the same caller and chat, for nobody else, and is kept only after success',
      'test/tools/functions/run/function-context.test.ts > a long call can be cancelled: its signal aborts, and it settles without waiting for the function',
      'test/requirements/functions.test.ts > a function in this process > that returns noReply() ends the run without another question; stop() does so with a result',
      'test/requirements/functions.test.ts > a function that hands over > lets the run continue under that preset, with the same conversation and state',
    ],
  },
  {
    id: 'S0-21',
    behaviour:
      'The time limit of a call is the tool’s, else the request’s, else the preset’s, else the default. Zero is refused instead of meaning none.',
    status: 'verified',
    tests: [
      'test/requirements/limits-and-reports.test.ts > the time limit of a call > is that of the tool, else of the request, else of the preset, else of the setting',
      'test/requirements/limits-and-reports.test.ts > the time limit of a call > of zero is refused, wherever it stands',
    ],
  },
  {
    id: 'S0-22',
    behaviour:
      'A call over its time limit is a result for the model, `{"error":"Tool \'slow_tool\' timed out after 5s"}`; the run goes on, and its event has the code `tool_timeout`.',
    status: 'verified',
    tests: [
      'test/requirements/loop.test.ts > a failing call > over its time limit is a result in the agreed words, and the run goes on',
      'test/chat/loop/run-chat.test.ts > a tool that takes too long is told to the model in the agreed words, and its signal is aborted',
    ],
  },
  {
    id: 'S0-23',
    behaviour: 'A `beforeTool` hook that returns a result blocks or replaces the execution: the function does not run.',
    status: 'verified',
    tests: [
      'test/requirements/hooks.test.ts > a beforeTool hook > that returns a result replaces the execution: it is the result of the call, in the history as in the events, and the only one',
    ],
  },
  {
    id: 'S0-24',
    behaviour: 'An `afterTool` hook may return another result; the model, the sources and the events see that one.',
    status: 'verified',
    tests: [
      'test/requirements/hooks.test.ts > an afterTool hook > may return another result, which the model, the sources and the events see',
    ],
  },
  {
    id: 'S0-25',
    behaviour: 'A preset used as a tool has the single parameter `request`; its final answer is the result.',
    status: 'verified',
    tests: [
      'test/requirements/presets.test.ts > a preset as a tool > has the single parameter request, its answer is the result, and its tokens are counted',
    ],
  },
  {
    id: 'S0-26',
    behaviour:
      'A function can search the conversation so far, because its context holds the messages. The gateway keeps no chats of its own that could be searched.',
    status: 'verified',
    tests: [
      'test/requirements/functions.test.ts > a function in this process > knows chat, model, files and messages, so that it can search the conversation so far',
    ],
  },
  {
    id: 'S0-27',
    behaviour:
      'Each call shows as `tool.call` with its arguments before it is executed and as `tool.result` with the response and its duration after it.',
    status: 'verified',
    tests: [
      'test/requirements/loop.test.ts > a call > shows with its arguments before it runs, and with its response and duration after it',
    ],
  },
  {
    id: 'S0-28',
    behaviour: 'What a hook returns in place of a call counts as its result: every call has exactly one, in the history as in the events.',
    status: 'verified',
    tests: [
      'test/requirements/hooks.test.ts > a beforeTool hook > that returns a result replaces the execution: it is the result of the call, in the history as in the events, and the only one',
    ],
  },
];
