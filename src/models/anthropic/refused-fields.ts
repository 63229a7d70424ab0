import type { GatewayError } from '../../core/errors.ts';
import type { Lesson } from '../../core/models/lesson.ts';
import type { ModelRequest } from '../../core/models/model.ts';
import { isJsonObject, ownValue } from '../../shared/json/json.ts';
import type { Recognised, Refused, Remedy } from '../remedies/remedy.ts';
import { budgetOf } from './anthropic-parameters.ts';
import { isForced } from './anthropic-tools.ts';

/** In the order in which they are left out where a model takes only one of them. */
const sampling = ['top_p', 'top_k', 'temperature'] as const;
const refusesName = /deprecated|not (?:supported|permitted|allowed|available)|unsupported|cannot both|only one|may only|extra inputs/i;

/** Newer models take no parameter of sampling, and the ones before them not two at a time; the list of models does not say which. */
export const samplingRemedy: Remedy = {
  kinds: ['parameter'],
  maxRepeats: sampling.length,
  recognise({ refusal, request, made }) {
    if (!isRefusalOfRequest(refusal) || !refusesName.test(refusal.message)) return undefined;
    const isLeft = (name: string): boolean => !made.some(({ subject }) => subject === name) && request.parameters[name] !== undefined;
    const name = sampling.find((one) => isLeft(one) && new RegExp(`\\b${one}\\b`).test(refusal.message));
    if (name === undefined) return undefined;
    const warning = { code: 'parameter_refused', message: `The model refuses ${name}; it is asked without it.` };
    return {
      lesson: { kind: 'parameter', subject: name, change: 'left out', content: samplingIn(request), warning },
      pointsAt: name,
      rule: 'own',
    };
  },
  change(request, { subject }) {
    const { [subject]: _refused, ...parameters } = request.parameters;
    return { ...request, parameters };
  },
  concerns: ({ subject, content }, request) =>
    sampling.some((name) => name === subject) && request.parameters[subject] !== undefined && content === samplingIn(request),
};

function samplingIn({ parameters }: ModelRequest): string {
  return sampling.filter((name) => parameters[name] !== undefined).join(' ');
}

const effortName = 'reasoning_effort';
const aboutThinking = /\b(?:adaptive )?thinking\b|\beffort\b|\boutput_config\b/i;
const defaultAnswerTokens = 8_192;

/** A model that does not think as it was asked to: first a budget in place of adaptive thinking, then none. */
export const thinkingRemedy: Remedy = {
  kinds: ['parameter'],
  maxRepeats: 2,
  recognise({ refusal, request, made }: Refused): Recognised | undefined {
    const pointsAt = aboutThinking.exec(refusal.message)?.[0];
    if (!isRefusalOfRequest(refusal) || !hasEffort(request) || pointsAt === undefined) return undefined;
    // About the blocks of earlier turns.
    if (/messages\.\d/.test(refusal.message)) return undefined;
    const before = made.find(({ subject }) => subject === effortName)?.change;
    if (before === 'left out') return undefined;
    const change = before === undefined && !isForced(request.toolChoice) ? 'budget' : 'left out';
    return { lesson: lessonAboutThinking(change, request), pointsAt, rule: 'own' };
  },
  change(request, { change }) {
    const { [effortName]: effort, ...parameters } = request.parameters;
    const limit = parameters['max_completion_tokens'] ?? parameters['max_tokens'];
    const maxTokens = typeof limit === 'number' ? limit : defaultAnswerTokens;
    const thinking = change === 'budget' && typeof effort === 'string' ? budgetOf(effort, maxTokens) : undefined;
    return { ...request, parameters: { ...parameters, ...(thinking !== undefined && { thinking: { ...thinking } }) } };
  },
  concerns: ({ subject, content }, request) => subject === effortName && hasEffort(request) && content === forceOf(request),
};

function hasEffort({ parameters }: ModelRequest): boolean {
  return typeof parameters[effortName] === 'string' && !isJsonObject(ownValue(parameters, 'thinking'));
}

function forceOf({ toolChoice }: ModelRequest): string {
  return isForced(toolChoice) ? 'with a forced call' : '';
}

function lessonAboutThinking(change: 'budget' | 'left out', request: ModelRequest): Lesson {
  const warning =
    change === 'budget'
      ? { code: 'parameter_renamed', message: 'The model refuses adaptive thinking; the effort is sent as a budget of tokens.' }
      : { code: 'parameter_refused', message: `The model refuses ${effortName}; it is asked without it.` };
  return { kind: 'parameter', subject: effortName, change, content: forceOf(request), warning };
}

/** Models that always think cannot be made to call a function. */
export const forcedCallRemedy: Remedy = {
  kinds: ['parameter'],
  maxRepeats: 1,
  recognise({ refusal, request }) {
    const pointsAt = /\btool_choice\b|\bforces? tool use\b/.exec(refusal.message)?.[0];
    if (!isRefusalOfRequest(refusal) || !isForced(request.toolChoice) || pointsAt === undefined) return undefined;
    const warning = {
      code: 'tool_choice_refused',
      message: 'The model refuses a forced call; it decides itself whether to call a function.',
    };
    return { lesson: { kind: 'parameter', subject: 'tool_choice', change: 'auto', content: '', warning }, pointsAt, rule: 'own' };
  },
  change: (request) => ({ ...request, toolChoice: 'auto' }),
  concerns: ({ subject }, { toolChoice }) => subject === 'tool_choice' && isForced(toolChoice),
};

/** Newer models do not continue a message of their own, as frontends ask them to. */
export const prefillRemedy: Remedy = {
  kinds: ['parameter'],
  maxRepeats: 1,
  recognise({ refusal, request }) {
    const pointsAt = /\bprefill\b|\bmust end with a user message\b/i.exec(refusal.message)?.[0];
    if (!isRefusalOfRequest(refusal) || !endsWithAnswer(request) || pointsAt === undefined) return undefined;
    const message = 'The model does not continue its own message; it was asked to go on in a new one.';
    const lesson: Lesson = {
      kind: 'parameter',
      subject: 'prefill',
      change: 'asked',
      content: '',
      warning: { code: 'prefill_refused', message },
    };
    return { lesson, pointsAt, rule: 'own' };
  },
  change: (request) => ({ ...request, messages: [...request.messages, { role: 'user', content: 'Continue exactly where you stopped.' }] }),
  concerns: ({ subject }, request) => subject === 'prefill' && endsWithAnswer(request),
};

function endsWithAnswer({ messages }: ModelRequest): boolean {
  return messages.at(-1)?.role === 'assistant';
}

function isRefusalOfRequest({ code, status }: GatewayError): boolean {
  return code === 'upstream_rejected' && (status === 400 || status === 422);
}
