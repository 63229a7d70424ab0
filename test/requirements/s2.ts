import type { Requirement } from './requirement.ts';

/** Functions in this process: one schema, the checks before a call, the options of a definition, and presets as tools. */
export const functionRequirements: Requirement[] = [
  {
    id: 'S2-1',
    behaviour:
      'The schema that a model reads is the schema that its arguments are checked against; there is no second one that could drift.',
    status: 'verified',
    tests: ['test/requirements/loop.test.ts > a call > is checked against the very schema that the model reads'],
  },
  {
    id: 'S2-2',
    behaviour: 'Descriptions of parameters are not read from comment styles: they stand in the schema alone.',
    status: 'not_applicable',
    reason: 'Styles of docstrings exist in Python only; a JavaScript function has no documentation at run time.',
  },
  {
    id: 'S2-3',
    behaviour:
      'A definition that cannot work (no name, an illegal one, a schema whose root is no object) fails when its module is loaded, with an error that names it.',
    status: 'verified',
    tests: [
      'test/tools/functions/define/define-tool.test.ts > a definition that cannot work > is one that is no object',
      'test/tools/functions/define/define-tool.test.ts > a definition that cannot work > names itself and the cure',
    ],
  },
  {
    id: 'S2-4',
    behaviour: 'A model can neither see nor supply the context: an argument that it calls `context` is an argument like others.',
    status: 'verified',
    tests: [
      'test/requirements/functions.test.ts > a function in this process > gets its context from the gateway alone: an argument that a model calls context is an argument like others',
    ],
  },
  {
    id: 'S2-5',
    behaviour: 'A function is declared in exactly one way, by calling `defineTool` with an object.',
    status: 'not_applicable',
    reason: 'Decorators with and without parentheses are a matter of Python syntax.',
  },
  {
    id: 'S2-6',
    behaviour:
      'Arguments that are no JSON answer `args_not_json`, arguments that break the schema answer `args_invalid`; in both cases the function does not run and the model reads why.',
    status: 'verified',
    tests: [
      'test/requirements/loop.test.ts > a call > with arguments that are no JSON or break the schema does not run, and the model reads why',
    ],
  },
  {
    id: 'S2-7',
    behaviour: 'A module whose work blocks can be marked `worker: true` and then runs in a worker, so that other chats are not held up.',
    status: 'verified',
    tests: [
      'test/slow/function-threads.test.ts > a function that blocks holds up nobody else, and its thread has what was loaded, with what that imports',
      'test/slow/function-threads.test.ts > an abort ends the thread though it never looks up',
    ],
  },
  {
    id: 'S2-8',
    behaviour:
      'A definition may say for itself: strictness, enablement, approval, guardrails, time limit and what follows it, error behaviour, order, caching, files.',
    status: 'verified',
    tests: [
      'test/requirements/functions.test.ts > a function in this process > with other options has them in force: order, caching, default',
      'test/requirements/functions.test.ts > a function in this process > with strict is offered in the strict form, and in its plain one to a backend that is not to have it',
      'test/requirements/functions.test.ts > a function in this process > that is off, by its condition or for throwing in it, is invisible; conditions are asked all at once',
      'test/requirements/functions.test.ts > a function that needs approval > by its definition, or for these arguments, does not run without one',
      'test/requirements/functions.test.ts > a function in this process > that consumes files leaves them out of the context once it was called',
    ],
  },
  {
    id: 'S2-9',
    behaviour:
      'A function with `strict` is offered with a schema in the form that strict backends demand; a backend that refuses it gets the plain one.',
    status: 'verified',
    tests: [
      'test/requirements/functions.test.ts > a function in this process > with strict is offered in the strict form, and in its plain one to a backend that is not to have it',
      'test/models/schema-profiles/strict-wish.test.ts > a backend that refuses the strict form gets the plain one',
    ],
  },
  {
    id: 'S2-10',
    behaviour:
      '`isEnabled` is asked for all functions at once at the start of each run; what is off is invisible to the model, and one that throws hides only itself.',
    status: 'verified',
    tests: [
      'test/requirements/functions.test.ts > a function in this process > that is off, by its condition or for throwing in it, is invisible; conditions are asked all at once',
    ],
  },
  {
    id: 'S2-11',
    behaviour: 'A call that needs approval waits for a human before it is executed; a rejection is told to the model as the result.',
    status: 'verified',
    tests: [
      'test/http/approvals.test.ts > an answer that waits for an approval > says what is waiting, with a token for each call, and nothing of it has run',
      'test/http/approvals.test.ts > a decision > to reject is told to the model with its message',
      'test/http/approvals.test.ts > a run that waits > survives a restart, secrets encrypted, and goes on in another process',
      'test/http/socket-approvals.test.ts > a confirmation > asks the session with tool and arguments, without a token, and the run goes on once it is given',
      'test/http/approvals.property.test.ts > whoever decides and cancels in whatever order, each call is settled once and by its owner, and runs only when it was approved',
    ],
  },
  {
    id: 'S2-12',
    behaviour:
      'Input guardrails of a function may refuse its arguments and output guardrails its result, each with a message to the model or by ending the run.',
    status: 'verified',
    tests: [
      'test/requirements/functions.test.ts > a function in this process > with guardrails has its arguments or its result refused, with a message to the model or by ending the run',
    ],
  },
  {
    id: 'S2-13',
    behaviour: '`timeoutBehavior` decides whether a time limit that was passed becomes a result for the model or ends the run.',
    status: 'verified',
    tests: [
      'test/requirements/functions.test.ts > a function in this process > whose time limit was passed is told to the model, or ends the run, as timeoutBehavior says',
    ],
  },
  {
    id: 'S2-14',
    behaviour:
      '`onError` decides what an exception becomes: by default a result for the model, else the end of the run, or the text of a function.',
    status: 'verified',
    tests: [
      'test/requirements/functions.test.ts > a function in this process > that throws is a result, the end of the run, or the text of a function, as onError says',
    ],
  },
  {
    id: 'S2-15',
    behaviour:
      'A preset called as a tool answers to the caller’s run, which stays in control; a handoff gives the conversation and the rest of the run to the other preset.',
    status: 'verified',
    tests: [
      'test/requirements/presets.test.ts > a preset as a tool > has the single parameter request, its answer is the result, and its tokens are counted',
      'test/requirements/presets.test.ts > a hand-over > is offered without being listed, allows exactly the sub-agents, and the conversation goes on under the other preset',
    ],
  },
  {
    id: 'S2-16',
    behaviour: 'A preset called as a tool runs with its own limits; its tokens are counted in the usage of the run that called it.',
    status: 'verified',
    tests: [
      'test/requirements/presets.test.ts > a preset as a tool > has the single parameter request, its answer is the result, and its tokens are counted',
    ],
  },
  {
    id: 'S2-17',
    behaviour:
      'An approval that is needed inside a preset called as a tool is asked on the outer run, and the decision reaches the inner one.',
    status: 'verified',
    tests: [
      'test/http/inner-approvals.test.ts > an approval that a preset called as a tool needs > is asked on the outer run under the path of the calls, and its result comes back through both',
      'test/http/inner-approvals.test.ts > an approval that a preset called as a tool needs > outlives a restart, and nothing that has run runs again',
      'test/http/inner-approvals.test.ts > an approval that a preset called as a tool needs > is found two levels deep',
      'test/http/inner-approvals.test.ts > an approval that a preset called as a tool needs > comes after that of a call of the outer run which stands before it, and what stands behind waits with both',
      'test/http/inner-approvals.test.ts > an approval that a preset called as a tool needs > may come again after it was given, with arguments that are checked, and what was said before is not lost',
      'test/http/inner-approvals.test.ts > an approval that a preset called as a tool needs > that is to be remembered holds in the preset and outside of it, for this chat',
      'test/http/inner-approvals.test.ts > an approval that a preset called as a tool needs > does not open a way around the end of a circle',
      'test/http/socket-approvals.test.ts > a confirmation > of a preset that is a tool within another run comes to the session of the outer one, whose events tell it',
      'test/http/approvals.property.test.ts > whoever decides and cancels in whatever order, each call is settled once and by its owner, and runs only when it was approved',
    ],
  },
  {
    id: 'S2-18',
    behaviour: 'Tools that a provider executes itself are forwarded as they came, and the gateway never tries to run them.',
    status: 'verified',
    tests: [
      'test/requirements/wire.test.ts > a tool that a provider executes itself is forwarded as it came, and a call to it is never run',
      'test/chat/loop/answer-chat.test.ts > a tool that the provider runs itself goes along with the answer of a prompt-based mode',
    ],
  },
  {
    id: 'S2-19',
    behaviour:
      'Everything in a backend’s answer has a place: text, reasoning, calls, usage and end are told apart, and unknown fields are passed on where they stood.',
    status: 'verified',
    tests: [
      'test/requirements/wire.test.ts > an answer > has a place for everything in it: text, reasoning, calls, usage, end, and unknown fields where they stood',
    ],
  },
  {
    id: 'S2-20',
    behaviour: 'The calls of one round that only read are started together, up to a fixed number at a time; the others keep their order.',
    status: 'verified',
    tests: [
      'test/chat/loop/run-chat.test.ts > calls of one turn that only read run at the same time and report in call order',
      'test/chat/loop/run-chat.test.ts > at most eight calls run at once',
    ],
  },
  {
    id: 'S2-21',
    behaviour: '`execute` may return its result or a promise of it; both are handled alike, and so are a throw and a rejection.',
    status: 'verified',
    tests: ['test/requirements/functions.test.ts > a function in this process > may return its result or a promise, and throw or reject'],
  },
];
