import type { Requirement } from './requirement.ts';

/** OpenAPI tool servers in a chat: registration, conversion, the request, selection by prompt, the browser, sources. */
export const toolServerRequirements: Requirement[] = [
  {
    id: 'S4-1',
    behaviour: 'An administrator registers an OpenAPI tool server by its URL alone; the document is read from `openapi.json` below it.',
    status: 'verified',
    tests: [
      'test/requirements/administration.test.ts > an administrator registers a tool server by its URL alone, its document is read below it, and every chat has its functions',
    ],
  },
  {
    id: 'S4-2',
    behaviour: '`params.function_calling` of a request decides how tools are chosen in that chat.',
    status: 'verified',
    tests: ['test/requirements/loop.test.ts > a run > chooses tools in the way that params.function_calling names'],
  },
  {
    id: 'S4-3',
    behaviour:
      'The whole body that Open WebUI sends to `/api/chat/completions` is accepted, and none of its additional fields reaches a backend.',
    status: 'verified',
    tests: [
      'test/requirements/wire.test.ts > a question to a backend > holds nothing of what Open WebUI sends along with its chat',
      'test/http/chat-completions.test.ts > extension fields never reach a backend, and unknown OpenAI parameters do',
    ],
  },
  {
    id: 'S4-4',
    behaviour:
      'A request may bring tool servers with their documents; the functions are converted from `openapi`. `specs` count only where there is none, and only for execution by the browser.',
    status: 'verified',
    tests: [
      'test/requirements/tool-servers.test.ts > a server of a request > is converted from its document, beside which its specs do not count',
      'test/requirements/tool-servers.test.ts > a server of a request > with specs alone serves the browser only',
    ],
  },
  {
    id: 'S4-5',
    behaviour:
      'Entries of `specs` are understood in the flat form and in the nested one, and selection by prompt shows all functions to the model in one form.',
    status: 'verified',
    tests: [
      'test/requirements/selection.test.ts > the question > shows all functions in one form, whether their specs were flat, nested or converted',
    ],
  },
  {
    id: 'S4-6',
    behaviour:
      'A function is named by its `operationId` made legal, or by method and path where there is none; names are unique and do not change when the document is reordered.',
    status: 'verified',
    tests: [
      'test/requirements/tool-servers.test.ts > a function of a document > is named by its operationId made legal or by method and path, uniquely, whatever the order of the document',
    ],
  },
  {
    id: 'S4-7',
    behaviour: 'A function is described by the description of its operation, else by its summary.',
    status: 'verified',
    tests: [
      'test/requirements/tool-servers.test.ts > a function of a document > is described by the description of its operation, else by its summary',
    ],
  },
  {
    id: 'S4-8',
    behaviour:
      'Parameters come from the path, query, headers and the body, through references, with the required ones named; an operation without any takes an empty object.',
    status: 'verified',
    tests: [
      'test/requirements/tool-servers.test.ts > a function of a document > has parameters from path, query, headers and body, through references, with the required ones named',
    ],
  },
  {
    id: 'S4-9',
    behaviour: 'Conversion keeps what guides a model: enumerations, defaults, formats, bounds and item types are not lost on the way.',
    status: 'verified',
    tests: [
      'test/requirements/tool-servers.test.ts > a function of a document > keeps the enumerations, defaults, formats, bounds and item types of its parameters',
    ],
  },
  {
    id: 'S4-10',
    behaviour: 'When a tool server refuses the arguments (422 and its like), the model reads which one was wrong and why.',
    status: 'verified',
    tests: [
      'test/requirements/tool-servers.test.ts > a function of a document > whose arguments the server refuses tells the model which one was wrong and why',
    ],
  },
  {
    id: 'S4-11',
    behaviour:
      '`variables` of a request replace `{{NAME}}` in system prompts and templates, once, and never in what a user, a document or a model wrote.',
    status: 'verified',
    tests: [
      'test/chat/loop/answer-chat.test.ts > variables are put into system prompts once, and not into what a user wrote',
      'test/chat/loop/answer-chat.test.ts > a template of files may repeat the query, and its variables are put in',
    ],
  },
  {
    id: 'S4-12',
    behaviour:
      'Every entry of the model list has id, name, object, created and owned_by; a model of Ollama also has the details that Ollama gives.',
    status: 'verified',
    tests: [
      'test/requirements/administration.test.ts > every model of the list has id, name, object, created and owned_by, and one of Ollama has its details',
    ],
  },
  {
    id: 'S4-13',
    behaviour: 'An unknown model is a 404 `model_not_found` in the form of OpenAI’s errors; a model that a key does not allow is refused.',
    status: 'verified',
    tests: [
      'test/requirements/administration.test.ts > an unknown model is a 404 in the form of the errors of OpenAI',
      'test/requirements/administration.test.ts > a model that a key does not allow is refused, in chats and elsewhere, whether it exists or not',
    ],
  },
  {
    id: 'S4-14',
    behaviour:
      'A `model_item` in the request is accepted and decides nothing: `model` alone is looked up, and a request cannot bring a backend of its own.',
    status: 'verified',
    tests: [
      'test/requirements/wire.test.ts > a question to a backend > goes to the backend that lists the model, whatever a model_item says',
    ],
  },
  {
    id: 'S4-15',
    behaviour:
      'The mode is the request’s, else the preset’s, else the setting’s. The setting’s own default is `auto`: native where the model can.',
    status: 'verified',
    tests: [
      'test/requirements/presets.test.ts > a preset > decides the mode where the request does not',
      'test/requirements/loop.test.ts > a run > chooses tools in the way that params.function_calling names',
    ],
  },
  {
    id: 'S4-16',
    behaviour: '`tool_ids` selects among registered tools: absent means the defaults, empty means none, an unknown entry is a 400.',
    status: 'verified',
    tests: [
      'test/requirements/tool-servers.test.ts > a registered server > is chosen by tool_ids: absent means the defaults, empty means none, an unknown entry is refused',
    ],
  },
  {
    id: 'S4-17',
    behaviour:
      'Functions of a request’s servers join the registered ones; on a clash of names the later one is renamed and nothing is overwritten.',
    status: 'verified',
    tests: [
      'test/requirements/tool-servers.test.ts > a server of a request > joins the registered ones; on a clash the later function is renamed and both can be called',
      'test/tools/catalog/tool-catalog.test.ts > names > are unique over everything, the later function renamed and its label kept',
    ],
  },
  {
    id: 'S4-18',
    behaviour:
      'In mode `native` a backend is offered registered functions, those of the request’s servers and the caller’s own together; only the caller’s are returned.',
    status: 'verified',
    tests: [
      'test/requirements/tool-servers.test.ts > a server of a request > is offered natively with the registered ones and the functions of the caller, and only the latter are returned',
    ],
  },
  {
    id: 'S4-19',
    behaviour:
      'A selection by prompt that fails leaves the chat without tools, not without an answer, and the `selection` event of the run says why.',
    status: 'verified',
    tests: [
      'test/requirements/selection.test.ts > an answer to it > that cannot be had or read costs the tools, not the answer, and the event says why',
    ],
  },
  {
    id: 'S4-20',
    behaviour:
      'With a session, functions of a request’s servers are executed by the browser: an `execute:tool` frame asks, `execute:tool:result` answers, and a closed socket or a passed limit settles the call.',
    status: 'verified',
    tests: [
      'test/requirements/socket.test.ts > with a session a function of the request is asked from the browser, and its answer is the result',
      'test/requirements/socket.test.ts > a socket that closes settles the call that it was asked',
      'test/requirements/socket.test.ts > a browser that does not answer within the limit settles the call as timed out',
    ],
  },
  {
    id: 'S4-21',
    behaviour: 'Functions of registered servers, and of a request’s servers without a session, are executed by the gateway itself.',
    status: 'verified',
    tests: [
      'test/requirements/tool-servers.test.ts > a registered server > is called by the gateway itself, with a browser at hand or without',
      'test/requirements/tool-servers.test.ts > a server of a request > is called by the gateway where there is no session',
    ],
  },
  {
    id: 'S4-22',
    behaviour:
      'Selection by prompt is asked of `TASK_MODEL` when the chat’s model is local and of `TASK_MODEL_EXTERNAL` when it is not; unset, of the chat’s model.',
    status: 'verified',
    tests: [
      'test/requirements/selection.test.ts > the question > goes to TASK_MODEL for a local model, to TASK_MODEL_EXTERNAL for another, and to the chat model without them',
    ],
  },
  {
    id: 'S4-23',
    behaviour: '`TOOLS_FUNCTION_CALLING_PROMPT_TEMPLATE` replaces the built-in template; `{{TOOLS}}` in it becomes the functions as JSON.',
    status: 'verified',
    tests: [
      'test/requirements/selection.test.ts > the question > has the template of the setting, with the functions as JSON in the place of {{TOOLS}}',
    ],
  },
  {
    id: 'S4-24',
    behaviour: 'The built-in template asks for one JSON object with `tool_calls`, a list of names and parameters, empty when no tool fits.',
    status: 'verified',
    tests: [
      'test/requirements/selection.test.ts > the question > asks with the built-in template for one JSON object with a list of names and parameters, empty when none fits',
    ],
  },
  {
    id: 'S4-25',
    behaviour:
      'The selection question shows at most three earlier messages and then the query once, on the last line. Unlike in the form that it comes from, they stand oldest first and the query is not repeated.',
    status: 'verified',
    tests: [
      'test/requirements/selection.test.ts > the question > shows at most three earlier messages, oldest first, and the query once, on the last line',
      'test/chat/loop/answer-chat.test.ts > files join the answer of a prompt-based mode, not the choice',
    ],
  },
  {
    id: 'S4-26',
    behaviour:
      'The selection is a question of its own, told apart from the answer: its text never reaches the client, its tokens are counted, and a `selection` event shows it.',
    status: 'verified',
    tests: [
      'test/requirements/selection.test.ts > the question > is apart from the answer: unseen by the client, counted, and shown by an event',
    ],
  },
  {
    id: 'S4-27',
    behaviour: 'A selection is understood whether the backend gives it in pieces or whole, and it is complete before a tool is executed.',
    status: 'verified',
    tests: ['test/requirements/selection.test.ts > an answer to it > may come in pieces, and is complete before a function runs'],
  },
  {
    id: 'S4-28',
    behaviour: 'An empty selection answer means no tool: the messages stay as they are and the model answers.',
    status: 'verified',
    tests: ['test/requirements/selection.test.ts > an answer to it > that selects nothing leaves the messages as they are'],
  },
  {
    id: 'S4-29',
    behaviour: 'The selection is found in what a model writes around it: prose with braces, code fences, thoughts, more than one object.',
    status: 'verified',
    tests: [
      'test/requirements/selection.test.ts > an answer to it > is found between prose with braces, fences, thoughts and other objects',
    ],
  },
  {
    id: 'S4-30',
    behaviour: 'A selection may be a list under `tool_calls` or one bare call.',
    status: 'verified',
    tests: ['test/requirements/selection.test.ts > an answer to it > may be a list under tool_calls or one bare call'],
  },
  {
    id: 'S4-31',
    behaviour:
      'A shortened name is understood when exactly one offered function fits, so that `get_current_local` finds its function; any other unknown name is reported in the run and not executed.',
    status: 'verified',
    tests: [
      'test/requirements/selection.test.ts > an answer to it > with a shortened name finds its function; another unknown name is reported and not executed',
      'test/chat/loop/answer-chat.test.ts > a call meant for a function of the caller never ends at a like-named function of the gateway',
    ],
  },
  {
    id: 'S4-32',
    behaviour:
      'Arguments that a function does not know are not sent to it, and a missing required one is told to the model instead of being sent without.',
    status: 'verified',
    tests: [
      'test/requirements/loop.test.ts > a call > carries no argument that its function does not know, and is not sent without a required one',
    ],
  },
  {
    id: 'S4-33',
    behaviour: 'In selection by prompt, too, an error of a tool stands in the place of its result, and a failed call gives no source.',
    status: 'verified',
    tests: [
      'test/requirements/selection.test.ts > what was selected > and failed has its error in the place of its result, and gives no source',
    ],
  },
  {
    id: 'S4-34',
    behaviour:
      'Files in a result, `data:` texts at any depth, are taken out of what the model reads, all of them, and a note stands in their place.',
    status: 'verified',
    tests: [
      'test/requirements/limits-and-reports.test.ts > a result > with files at any depth reaches the model with notes in their place, and the client with the files',
      'test/chat/results/extract-data-uris.test.ts > files in a result > are taken out at any depth, all of them, and a note stands in their place',
    ],
  },
  {
    id: 'S4-35',
    behaviour:
      'Objects and lists are handed over as JSON with an indentation of two spaces; numbers, booleans and null are handed over too.',
    status: 'verified',
    tests: [
      'test/requirements/loop.test.ts > a result > that is an object or list is JSON with two spaces; numbers, booleans and null are handed over too',
    ],
  },
  {
    id: 'S4-36',
    behaviour:
      'A successful call becomes a source with its name, document, parameters and `tool_result: true`; the name holds the server’s id for a registered server and the function alone for a request’s.',
    status: 'verified',
    tests: [
      'test/requirements/tool-servers.test.ts > a server of a request > and a registered one give sources that are named by their kind',
    ],
  },
  {
    id: 'S4-37',
    behaviour:
      'In selection by prompt the results are appended to the last user message, after a blank line, and the earlier messages stay untouched.',
    status: 'verified',
    tests: [
      'test/requirements/selection.test.ts > what was selected > is appended to the last user message alone, after a blank line, under the name of its source',
    ],
  },
  {
    id: 'S4-38',
    behaviour: 'When a function with `consumesFiles` was called, the files of the request are not used as context as well.',
    status: 'verified',
    tests: [
      'test/requirements/functions.test.ts > a function in this process > that consumes files leaves them out of the context once it was called',
    ],
  },
  {
    id: 'S4-39',
    behaviour:
      'Selected calls are executed side by side and not one after another; their results are appended in the order of the selection.',
    status: 'verified',
    tests: [
      'test/requirements/selection.test.ts > what was selected > runs side by side, and its results are appended in the order of the selection',
    ],
  },
  {
    id: 'S4-40',
    behaviour: 'A registered tool server that cannot be reached costs a chat its functions only: they are left out with a warning event.',
    status: 'verified',
    tests: [
      'test/requirements/tool-servers.test.ts > a registered server > that cannot be reached costs a chat its functions only, with a warning',
      'test/tools/catalog/tool-catalog.test.ts > a registered server that cannot serve > is left out with a warning, and the others stay',
    ],
  },
  {
    id: 'S4-41',
    behaviour: 'The answer carries its `sources`: as a field of the completion, and in a stream before the text that they support.',
    status: 'verified',
    tests: [
      'test/http/chat-completions.test.ts > with a registered tool server > the completion holds the sources and the usage of all rounds',
      'test/http/chat-completions.test.ts > with a registered tool server > extensions in a stream travel in chunks that strict clients accept, sources before the text',
      'test/chat/loop/answer-chat.test.ts > a source comes before the text it supports',
    ],
  },
  {
    id: 'S4-42',
    behaviour:
      'Inline `files` become sources and context by `RAG_TEMPLATE` with `{{CONTEXT}}` and `{{QUERY}}`; results of tools are no part of that context, and without files nothing is added.',
    status: 'verified',
    tests: [
      'test/requirements/selection.test.ts > inline files > become sources and context by the template; results of tools are no part of that context',
      'test/requirements/selection.test.ts > inline files > that are not there add nothing',
    ],
  },
  {
    id: 'S4-43',
    behaviour:
      'Mode `default` selects once for each request, before the answer; calls that build on results of others need `native` or `react`.',
    status: 'verified',
    tests: ['test/requirements/selection.test.ts > the question > is asked once for a request, whatever rounds it allows'],
  },
  {
    id: 'S4-44',
    behaviour:
      'A frontend’s hidden tasks run without tools: `background_tasks` starts nothing in the gateway, and a request with `metadata.task` is offered no function.',
    status: 'verified',
    tests: [
      'test/requirements/loop.test.ts > a run > starts nothing for background_tasks, and offers no function to a hidden task',
      'test/http/chat-completions.test.ts > with a registered tool server > a hidden task of a frontend runs without tools',
    ],
  },
];
