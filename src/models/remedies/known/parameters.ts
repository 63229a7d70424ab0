import { derivedNames } from '../../../core/chat/derived-parameters.ts';
import type { GatewayError } from '../../../core/errors.ts';
import type { Lesson } from '../../../core/models/lesson.ts';
import type { ModelRequest } from '../../../core/models/model.ts';
import { hashOf } from '../hash-content.ts';
import { wordsOf } from '../refusal-wordings.ts';
import type { Recognised, Refused, Remedy } from '../remedy.ts';
import { asksForUsage, foreignStreamOptions } from '../../openai/openai-messages.ts';

/** How a backend says that it does not take a derived parameter (`core/chat/derived-parameters.ts`); others are not left out. */
const refusals: ReadonlyMap<string, RegExp> = new Map([
  // OpenAI's newer models want the longer limit under another name.
  ['max_tokens', /max_completion_tokens/],
  ['reasoning_effort', /reasoning[._]effort/],
]);

/** The parameter itself is unknown or unsupported, whatever its value. */
const refusesName =
  /\b(?:unsupported|unrecognized|unknown|unexpected|invalid) (?:request )?(?:parameter|argument|field|name|key|property)|\bextra (?:inputs|fields)\b|\bnot (?:a )?(?:permitted|recognized|supported|allowed)\b|\bdoes(?: not|n't) (?:support|accept|take|allow) (?:the )?(?:parameter )?['"`]?(?:reasoning[._]effort|max_tokens)/i;
/** Only this value is refused. */
const refusesValue =
  /\bvalues?\b|\bmust be\b|\bone of\b|\binput should be\b|\bliteral\b|\btoo (?:large|small|high|low)\b|\bwith(?:out)? (?:function |the )?tools?\b|\bfunction tools\b/i;

/** Leaves out the derived parameters that a model refuses, or gives them the name that it wants. */
export const parameterRemedy: Remedy = {
  kinds: ['parameter'],
  maxRepeats: refusals.size,
  reason: 'request_refused',
  recognise: recogniseParameter,
  change(request, { subject }) {
    const { [subject]: value, ...parameters } = request.parameters;
    if (subject === 'max_tokens') parameters['max_completion_tokens'] ??= value;
    return { ...request, parameters };
  },
  concerns({ subject, content }, request) {
    if (!derivedNames(request.parameters).includes(subject)) return false;
    return content === contentOf(request) || content === contentOf(request, subject);
  },
};

function recogniseParameter({ refusal, request, made }: Refused): Recognised | undefined {
  if (!isRefusalOfRequest(refusal)) return undefined;
  const words = wordsOf(refusal);
  const isLeft = (name: string): boolean => !made.some(({ kind, subject }) => kind === 'parameter' && subject === name);
  for (const name of derivedNames(request.parameters).filter(isLeft)) {
    const pointsAt = refusals.get(name)?.exec(words)?.[0];
    if (pointsAt === undefined) continue;
    if (isAboutName(refusal, name, request.parameters[name])) return { lesson: lessonAbout(name, contentOf(request)), pointsAt };
    return { lesson: lessonAbout(name, contentOf(request, name)), pointsAt, rule: 'own' };
  }
  return undefined;
}

function lessonAbout(name: string, content: string): Lesson {
  const warning =
    name === 'max_tokens'
      ? { code: 'parameter_renamed', message: 'The model refuses max_tokens; the limit is sent as max_completion_tokens.' }
      : { code: 'parameter_refused', message: `The model refuses ${name}; it is asked without it.` };
  return { kind: 'parameter', subject: name, change: name === 'max_tokens' ? 'renamed' : 'left out', content, warning };
}

/** What the refusal of a parameter holds for: some models take it only without functions. `name`: only for its value. */
function contentOf({ tools, callerTools, parameters }: ModelRequest, name?: string): string {
  const withFunctions = tools.length + callerTools.length > 0 ? 'with functions' : 'without functions';
  return name === undefined ? withFunctions : `${withFunctions} ${hashOf(parameters[name])}`;
}

/** Efforts that every server with the parameter has; any other one may be refused for its own sake. */
const commonEfforts: ReadonlySet<unknown> = new Set(['low', 'medium', 'high']);

function isAboutName({ message }: GatewayError, name: string, value: unknown): boolean {
  if (!refusesName.test(message) || refusesValue.test(message)) return false;
  if (typeof value !== 'string') return true;
  return (name !== 'reasoning_effort' || commonEfforts.has(value)) && !message.split(/[^\w-]+/).includes(value);
}

/** Goes without usage in streams where a server does not know `stream_options`, which OpenAI needs for it. */
export const usageRemedy: Remedy = {
  kinds: ['usage'],
  maxRepeats: 1,
  reason: 'request_refused',
  recognise({ refusal, request, sent }) {
    if (!isRefusalOfRequest(refusal) || !asksForUsage(sent)) return undefined;
    // If the caller set options too, the refusal may be about those, so it is passed on.
    if (Object.keys(foreignStreamOptions(request.parameters['stream_options'])).length > 0) return undefined;
    const pointsAt = /stream_options|include_usage/.exec(wordsOf(refusal))?.[0];
    return pointsAt === undefined ? undefined : { lesson: lessonAboutUsage, pointsAt };
  },
  change: (request) => ({ ...request, asksForUsage: false }),
  // A caller's own options may be what a server takes.
  concerns: (_lesson, request) =>
    asksForUsage(request) && Object.keys(foreignStreamOptions(request.parameters['stream_options'])).length === 0,
};

const lessonAboutUsage: Lesson = {
  kind: 'usage',
  subject: 'stream_options',
  change: 'left out',
  content: '',
  warning: { code: 'usage_unavailable', message: 'The backend refuses stream_options; it may not report the tokens of streamed answers.' },
};

function isRefusalOfRequest({ status }: GatewayError): boolean {
  return status === 400 || status === 422;
}
