import type { Requirement } from './requirement.ts';

/** The life of functions and toolsets: identity, replacement, interruption, handing over, and what a context remembers. */
export const toolsetRequirements: Requirement[] = [
  {
    id: 'S3-1',
    behaviour: 'A function is offered under the name and description of its definition, whatever its module exports it as.',
    status: 'planned',
    part: 'functions',
  },
  {
    id: 'S3-2',
    behaviour: 'The id of a function stays the same over updates, and when one update holds an id twice the last entry wins.',
    status: 'planned',
    part: 'functions',
  },
  {
    id: 'S3-3',
    behaviour: 'The same name twice in one toolset is an error at its definition.',
    status: 'planned',
    part: 'functions',
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
    status: 'planned',
    part: 'functions',
  },
  {
    id: 'S3-6',
    behaviour:
      'A function may return `handoff(preset)` or `handoff(preset, result)`: the run continues under that preset, with the result when there is one.',
    status: 'planned',
    part: 'functions',
  },
  {
    id: 'S3-7',
    behaviour:
      '`status` and `progress` of the context show what a function is doing while it runs, and resolve only when that was delivered.',
    status: 'planned',
    part: 'functions',
  },
  {
    id: 'S3-8',
    behaviour:
      'A long call can be cancelled while it runs: its signal aborts, and the call settles as cancelled without waiting for the function.',
    status: 'planned',
    part: 'functions',
  },
  {
    id: 'S3-9',
    behaviour: 'What a function does inside `critical` is not interrupted: a cancellation waits until it is done.',
    status: 'planned',
    part: 'functions',
  },
  {
    id: 'S3-10',
    behaviour:
      '`PUT /api/tool-servers` replaces the whole set, what is not in it is gone; single servers are added and changed with POST and PATCH.',
    status: 'planned',
    part: 'administration',
  },
  {
    id: 'S3-11',
    behaviour: 'One function can belong to several presets and toolsets without being defined again.',
    status: 'planned',
    part: 'functions',
  },
  {
    id: 'S3-12',
    behaviour: 'Code can make several functions of one pattern, each with its own name, description and bound values.',
    status: 'planned',
    part: 'functions',
  },
  {
    id: 'S3-13',
    behaviour: 'A function may be defined with raw JSON Schema instead of zod; its keywords reach the model and the check unchanged.',
    status: 'planned',
    part: 'functions',
  },
  {
    id: 'S3-14',
    behaviour:
      'A toolset bundles functions under one id, is switched as a whole, is offered to a model as single functions, and has `setup` and `close`.',
    status: 'planned',
    part: 'functions',
  },
  {
    id: 'S3-15',
    behaviour: 'A change of tools or instructions within a run is recorded as a `config.update` event that says what came and what went.',
    status: 'planned',
    part: 'functions',
  },
  {
    id: 'S3-16',
    behaviour: 'A handoff is no border: the other preset has the same conversation and the same state.',
    status: 'planned',
    part: 'functions',
  },
  {
    id: 'S3-17',
    behaviour: 'The message of a `ToolError` is told to the model; any other exception is masked there and logged with an id.',
    status: 'planned',
    part: 'functions',
  },
  {
    id: 'S3-18',
    behaviour: 'What a function keeps with `state.set` is there at its next call of the same caller and chat, and for nobody else.',
    status: 'planned',
    part: 'functions',
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
