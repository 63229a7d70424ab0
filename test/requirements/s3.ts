import type { Requirement } from './requirement.ts';

/** The life of functions and toolsets: identity, replacement, interruption, handing over, and what a context remembers. */
export const toolsetRequirements: Requirement[] = [
  {
    id: 'S3-1',
    behaviour: 'A function is offered under the name and description of its definition, whatever its module exports it as.',
    status: 'verified',
    tests: [
      'test/requirements/functions.test.ts > a function in this process > is offered under the name, the description and the parameters of its definition, whatever its module exports it as',
    ],
  },
  {
    id: 'S3-2',
    behaviour: 'The id of a function stays the same over updates, and when one update holds an id twice the last entry wins.',
    status: 'verified',
    tests: ['test/tools/functions/load/function-folder.test.ts > the id stays over updates, and of two with one name the last wins'],
  },
  {
    id: 'S3-3',
    behaviour: 'The same name twice in one toolset is an error at its definition.',
    status: 'verified',
    tests: ['test/tools/functions/define/define-tool.test.ts > a toolset > with the same name twice is an error at its definition'],
  },
  {
    id: 'S3-4',
    behaviour: 'A model always reads a result as text: a text unchanged, without quotes around it.',
    status: 'verified',
    tests: ['test/requirements/loop.test.ts > a result > that is text reaches the model unchanged, without quotes around it'],
  },
  {
    id: 'S3-5',
    behaviour: 'A function that returns `noReply()` has done its work silently: the run ends without another question to the model.',
    status: 'verified',
    tests: [
      'test/requirements/functions.test.ts > a function in this process > that returns noReply() ends the run without another question; stop() does so with a result',
    ],
  },
  {
    id: 'S3-6',
    behaviour:
      'A function may return `handoff(preset)` or `handoff(preset, result)`: the run continues under that preset, with the result when there is one.',
    status: 'verified',
    tests: [
      'test/requirements/functions.test.ts > a function that hands over > lets the run continue under that preset, with the same conversation and state',
      'test/requirements/functions.test.ts > a function that hands over > hands its result over where there is one',
    ],
  },
  {
    id: 'S3-7',
    behaviour:
      '`status` and `progress` of the context show what a function is doing while it runs, and resolve only when that was delivered.',
    status: 'verified',
    tests: [
      'test/tools/functions/run/function-context.test.ts > status and progress show while the function runs, and resolve only when that was delivered',
    ],
  },
  {
    id: 'S3-8',
    behaviour:
      'A long call can be cancelled while it runs: its signal aborts, and the call settles as cancelled without waiting for the function.',
    status: 'verified',
    tests: [
      'test/tools/functions/run/function-context.test.ts > a long call can be cancelled: its signal aborts, and it settles without waiting for the function',
    ],
  },
  {
    id: 'S3-9',
    behaviour: 'What a function does inside `critical` is not interrupted: a cancellation waits until it is done.',
    status: 'verified',
    tests: [
      'test/tools/functions/run/function-context.test.ts > what happens inside critical is not interrupted: a cancellation waits until it is done',
      'test/slow/function-threads.test.ts > a critical section in a thread defers the end of the call',
    ],
  },
  {
    id: 'S3-10',
    behaviour:
      '`PUT /api/tool-servers` replaces the whole set, what is not in it is gone; single servers are added and changed with POST and PATCH.',
    status: 'verified',
    tests: [
      'test/requirements/limits-and-reports.test.ts > the set of tool servers > is replaced as a whole by PUT; POST adds a single one and PATCH changes it',
    ],
  },
  {
    id: 'S3-11',
    behaviour: 'One function can belong to several presets and toolsets without being defined again.',
    status: 'verified',
    tests: [
      'test/requirements/functions.test.ts > functions by id > in toolsets of the configuration belong to several without being defined again, and are switched with them',
    ],
  },
  {
    id: 'S3-12',
    behaviour: 'Code can make several functions of one pattern, each with its own name, description and bound values.',
    status: 'verified',
    tests: [
      'test/requirements/functions.test.ts > a function in this process > may be one of several that code has made, each with its own name, schema, bound value and time limit',
    ],
  },
  {
    id: 'S3-13',
    behaviour: 'A function may be defined with raw JSON Schema instead of zod; its keywords reach the model and the check unchanged.',
    status: 'verified',
    tests: [
      'test/tools/functions/define/define-tool.test.ts > the schema of a definition > is JSON Schema as it was written, whatever becomes of the original',
    ],
  },
  {
    id: 'S3-14',
    behaviour:
      'A toolset bundles functions under one id, is switched as a whole, is offered to a model as single functions, and has `setup` and `close`.',
    status: 'verified',
    tests: [
      'test/requirements/functions.test.ts > functions by id > are listed, invoked and chosen: function:<name>, toolset:<id>, toolset:<id>/<name>',
      'test/requirements/functions.test.ts > functions by id > in toolsets of the configuration belong to several without being defined again, and are switched with them',
      'test/tools/functions/load/function-folder.test.ts > a toolset is set up before it is offered, and closed when it was replaced and the last run that has it ends',
    ],
  },
  {
    id: 'S3-15',
    behaviour: 'A change of tools or instructions within a run is recorded as a `config.update` event that says what came and what went.',
    status: 'verified',
    tests: [
      'test/requirements/presets.test.ts > a hand-over > is offered without being listed, allows exactly the sub-agents, and the conversation goes on under the other preset',
    ],
  },
  {
    id: 'S3-16',
    behaviour: 'A handoff is no border: the other preset has the same conversation and the same state.',
    status: 'verified',
    tests: [
      'test/requirements/functions.test.ts > a function that hands over > lets the run continue under that preset, with the same conversation and state',
    ],
  },
  {
    id: 'S3-17',
    behaviour: 'The message of a `ToolError` is told to the model; any other exception is masked there and logged with an id.',
    status: 'verified',
    tests: [
      'test/requirements/functions.test.ts > a function in this process > tells the model the message of a ToolError; any other exception is masked and logged with an id',
    ],
  },
  {
    id: 'S3-18',
    behaviour: 'What a function keeps with `state.set` is there at its next call of the same caller and chat, and for nobody else.',
    status: 'verified',
    tests: [
      'test/requirements/functions.test.ts > the state of a chat > is there at the next call of the same caller and chat, for nobody else, and is kept only after success',
    ],
  },
  {
    id: 'S3-19',
    behaviour: 'An MCP server is registered like an OpenAPI one, and its tools are offered, checked and executed like all others.',
    status: 'verified',
    tests: [
      'test/http/mcp-servers.test.ts > an MCP server among the tool servers > is registered like any other, reported, and its tools are invoked with the checks of a chat',
      'test/http/mcp-servers.test.ts > an MCP server among the tool servers > answers in a chat, where its result is a source',
    ],
  },
];
