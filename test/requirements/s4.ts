import type { Requirement } from './requirement.ts';

/** OpenAPI tool servers in a chat: registration, conversion, the request, selection by prompt, the browser, sources. */
export const toolServerRequirements: Requirement[] = [
  {
    id: 'S4-1',
    behaviour: 'An administrator registers an OpenAPI tool server by its URL alone; the document is read from `openapi.json` below it.',
    status: 'planned',
    part: 'administration',
  },
  {
    id: 'S4-2',
    behaviour: '`params.function_calling` of a request decides how tools are chosen in that chat.',
    status: 'planned',
    part: 'loop',
  },
  {
    id: 'S4-3',
    behaviour:
      'The whole body that Open WebUI sends to `/api/chat/completions` is accepted, and none of its additional fields reaches a backend.',
    status: 'planned',
    part: 'loop',
  },
  {
    id: 'S4-4',
    behaviour:
      'A request may bring tool servers with their documents; the functions are converted from `openapi`. `specs` count only where there is none, and only for execution by the browser.',
    status: 'planned',
    part: 'openapi',
  },
  {
    id: 'S4-5',
    behaviour:
      'Entries of `specs` are understood in the flat form and in the nested one, and selection by prompt shows all functions to the model in one form.',
    status: 'planned',
    part: 'openapi',
  },
  {
    id: 'S4-6',
    behaviour:
      'A function is named by its `operationId` made legal, or by method and path where there is none; names are unique and do not change when the document is reordered.',
    status: 'planned',
    part: 'openapi',
  },
  {
    id: 'S4-7',
    behaviour: 'A function is described by the description of its operation, else by its summary.',
    status: 'planned',
    part: 'openapi',
  },
  {
    id: 'S4-8',
    behaviour:
      'Parameters come from the path, query, headers and the body, through references, with the required ones named; an operation without any takes an empty object.',
    status: 'planned',
    part: 'openapi',
  },
  {
    id: 'S4-9',
    behaviour: 'Conversion keeps what guides a model: enumerations, defaults, formats, bounds and item types are not lost on the way.',
    status: 'planned',
    part: 'openapi',
  },
  {
    id: 'S4-10',
    behaviour: 'When a tool server refuses the arguments (422 and its like), the model reads which one was wrong and why.',
    status: 'planned',
    part: 'openapi',
  },
  {
    id: 'S4-11',
    behaviour:
      '`variables` of a request replace `{{NAME}}` in system prompts and templates, once, and never in what a user, a document or a model wrote.',
    status: 'planned',
    part: 'loop',
  },
  {
    id: 'S4-12',
    behaviour:
      'Every entry of the model list has id, name, object, created and owned_by; a model of Ollama also has the details that Ollama gives.',
    status: 'planned',
    part: 'administration',
  },
  {
    id: 'S4-13',
    behaviour: 'An unknown model is a 404 `model_not_found` in the form of OpenAI’s errors; a model that a key does not allow is refused.',
    status: 'planned',
    part: 'administration',
  },
  {
    id: 'S4-14',
    behaviour:
      'A `model_item` in the request is accepted and decides nothing: `model` alone is looked up, and a request cannot bring a backend of its own.',
    status: 'planned',
    part: 'loop',
  },
  {
    id: 'S4-15',
    behaviour:
      'The mode is the request’s, else the preset’s, else the setting’s. The setting’s own default is `auto`: native where the model can.',
    status: 'planned',
    part: 'loop',
  },
  {
    id: 'S4-16',
    behaviour: '`tool_ids` selects among registered tools: absent means the defaults, empty means none, an unknown entry is a 400.',
    status: 'planned',
    part: 'administration',
  },
  {
    id: 'S4-17',
    behaviour:
      'Functions of a request’s servers join the registered ones; on a clash of names the later one is renamed and nothing is overwritten.',
    status: 'planned',
    part: 'openapi',
  },
  {
    id: 'S4-18',
    behaviour:
      'In mode `native` a backend is offered registered functions, those of the request’s servers and the caller’s own together; only the caller’s are returned.',
    status: 'planned',
    part: 'loop',
  },
  {
    id: 'S4-19',
    behaviour:
      'A selection by prompt that fails leaves the chat without tools, not without an answer, and the `selection` event of the run says why.',
    status: 'planned',
    part: 'loop',
  },
  {
    id: 'S4-20',
    behaviour:
      'With a session, functions of a request’s servers are executed by the browser: an `execute:tool` frame asks, `execute:tool:result` answers, and a closed socket or a passed limit settles the call.',
    status: 'planned',
    part: 'loop',
  },
  {
    id: 'S4-21',
    behaviour: 'Functions of registered servers, and of a request’s servers without a session, are executed by the gateway itself.',
    status: 'planned',
    part: 'openapi',
  },
  {
    id: 'S4-22',
    behaviour:
      'Selection by prompt is asked of `TASK_MODEL` when the chat’s model is local and of `TASK_MODEL_EXTERNAL` when it is not; unset, of the chat’s model.',
    status: 'planned',
    part: 'loop',
  },
  {
    id: 'S4-23',
    behaviour: '`TOOLS_FUNCTION_CALLING_PROMPT_TEMPLATE` replaces the built-in template; `{{TOOLS}}` in it becomes the functions as JSON.',
    status: 'planned',
    part: 'loop',
  },
  {
    id: 'S4-24',
    behaviour: 'The built-in template asks for one JSON object with `tool_calls`, a list of names and parameters, empty when no tool fits.',
    status: 'planned',
    part: 'loop',
  },
  {
    id: 'S4-25',
    behaviour:
      'The selection question shows at most three earlier messages and then the query once, on the last line. Unlike in the form that it comes from, they stand oldest first and the query is not repeated.',
    status: 'planned',
    part: 'loop',
  },
  {
    id: 'S4-26',
    behaviour:
      'The selection is a question of its own, told apart from the answer: its text never reaches the client, its tokens are counted, and a `selection` event shows it.',
    status: 'planned',
    part: 'loop',
  },
  {
    id: 'S4-27',
    behaviour: 'A selection is understood whether the backend gives it in pieces or whole, and it is complete before a tool is executed.',
    status: 'planned',
    part: 'loop',
  },
  {
    id: 'S4-28',
    behaviour: 'An empty selection answer means no tool: the messages stay as they are and the model answers.',
    status: 'planned',
    part: 'loop',
  },
  {
    id: 'S4-29',
    behaviour: 'The selection is found in what a model writes around it: prose with braces, code fences, thoughts, more than one object.',
    status: 'planned',
    part: 'loop',
  },
  {
    id: 'S4-30',
    behaviour: 'A selection may be a list under `tool_calls` or one bare call.',
    status: 'planned',
    part: 'loop',
  },
  {
    id: 'S4-31',
    behaviour:
      'A shortened name is understood when exactly one offered function fits, so that `get_current_local` finds its function; any other unknown name is reported in the run and not executed.',
    status: 'planned',
    part: 'loop',
  },
  {
    id: 'S4-32',
    behaviour:
      'Arguments that a function does not know are not sent to it, and a missing required one is told to the model instead of being sent without.',
    status: 'planned',
    part: 'loop',
  },
  {
    id: 'S4-33',
    behaviour: 'In selection by prompt, too, an error of a tool stands in the place of its result, and a failed call gives no source.',
    status: 'planned',
    part: 'loop',
  },
  {
    id: 'S4-34',
    behaviour:
      'Files in a result, `data:` texts at any depth, are taken out of what the model reads, all of them, and a note stands in their place.',
    status: 'planned',
    part: 'openapi',
  },
  {
    id: 'S4-35',
    behaviour:
      'Objects and lists are handed over as JSON with an indentation of two spaces; numbers, booleans and null are handed over too.',
    status: 'planned',
    part: 'loop',
  },
  {
    id: 'S4-36',
    behaviour:
      'A successful call becomes a source with its name, document, parameters and `tool_result: true`; the name holds the server’s id for a registered server and the function alone for a request’s.',
    status: 'planned',
    part: 'loop',
  },
  {
    id: 'S4-37',
    behaviour:
      'In selection by prompt the results are appended to the last user message, after a blank line, and the earlier messages stay untouched.',
    status: 'planned',
    part: 'loop',
  },
  {
    id: 'S4-38',
    behaviour: 'When a function with `consumesFiles` was called, the files of the request are not used as context as well.',
    status: 'planned',
    part: 'functions',
  },
  {
    id: 'S4-39',
    behaviour:
      'Selected calls are executed side by side and not one after another; their results are appended in the order of the selection.',
    status: 'planned',
    part: 'loop',
  },
  {
    id: 'S4-40',
    behaviour: 'A registered tool server that cannot be reached costs a chat its functions only: they are left out with a warning event.',
    status: 'planned',
    part: 'openapi',
  },
  {
    id: 'S4-41',
    behaviour: 'The answer carries its `sources`: as a field of the completion, and in a stream before the text that they support.',
    status: 'planned',
    part: 'loop',
  },
  {
    id: 'S4-42',
    behaviour:
      'Inline `files` become sources and context by `RAG_TEMPLATE` with `{{CONTEXT}}` and `{{QUERY}}`; results of tools are no part of that context, and without files nothing is added.',
    status: 'planned',
    part: 'loop',
  },
  {
    id: 'S4-43',
    behaviour:
      'Mode `default` selects once for each request, before the answer; calls that build on results of others need `native` or `react`.',
    status: 'planned',
    part: 'loop',
  },
  {
    id: 'S4-44',
    behaviour:
      'A frontend’s hidden tasks run without tools: `background_tasks` starts nothing in the gateway, and a request with `metadata.task` is offered no function.',
    status: 'planned',
    part: 'loop',
  },
];
