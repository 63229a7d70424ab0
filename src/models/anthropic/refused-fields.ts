import type { GatewayError } from '../../core/errors.ts';
import type { Lesson } from '../../core/models/lesson.ts';
import type { ModelRequest } from '../../core/models/model.ts';
import { isJsonObject, ownValue } from '../../shared/json/json.ts';
import type { Recognised, Refused, Remedy } from '../remedies/remedy.ts';
import { budgetOf } from './anthropic-parameters.ts';
import { isForced } from './anthropic-tools.ts';

/** Something that some models of Anthropic refuse and others need; the list of models does not say which. */
interface RefusedField {
  /** The subjects of its lessons. */
  subjects: readonly string[];
  recognise(refused: Omit<Refused, 'repeats'>): Recognised | undefined;
  change(request: ModelRequest, lesson: Lesson): ModelRequest;
  concerns(lesson: Lesson, request: ModelRequest): boolean;
}

/** In the order in which they are left out where a model takes only one of them. */
const sampling = ['top_p', 'top_k', 'temperature'] as const;
const refusesName = /deprecated|not (?:supported|permitted|allowed|available)|unsupported|cannot both|only one|may only|extra inputs/i;

/** Newer models take no parameter of sampling, and the ones before them not two at a time. */
const samplingField: RefusedField = {
  subjects: sampling,
  recognise({ refusal, request, made }) {
    if (!refusesName.test(refusal.message)) return undefined;
    const isLeft = (name: string): boolean => !isMade(made, name) && request.parameters[name] !== undefined;
    const name = sampling.find((one) => isLeft(one) && new RegExp(`\\b${one}\\b`).test(refusal.message));
    if (name === undefined) return undefined;
    const warning = { code: 'parameter_refused', message: `The model refuses ${name}; it is asked without it.` };
    return own({ subject: name, change: 'left out', content: '', warning }, name);
  },
  change(request, { subject }) {
    const { [subject]: _refused, ...parameters } = request.parameters;
    return { ...request, parameters };
  },
  // That it holds for the same values only is seen to by the memory.
  concerns: ({ subject }, request) => request.parameters[subject] !== undefined,
};

const effortName = 'reasoning_effort';
const aboutThinking = /\b(?:adaptive )?thinking\b|\beffort\b|\boutput_config\b/i;
/** The thinking of earlier turns, which has to come back as it was. */
const aboutBlocks = /\bsignature\b|cannot be modified/i;
/** Half of it is the budget where the caller sets no limit. */
const usualMaxTokens = 8_192;

/** A model that does not think as it was asked to: first a budget in place of adaptive thinking, then none. */
const thinkingField: RefusedField = {
  subjects: [effortName],
  recognise({ refusal, request, made }) {
    const pointsAt = aboutThinking.exec(refusal.message)?.[0];
    if (pointsAt === undefined || !hasEffort(request) || aboutBlocks.test(refusal.message)) return undefined;
    const before = made.find(({ subject }) => subject === effortName)?.change;
    if (before === 'left out') return undefined;
    return own(lessonAboutThinking(before === undefined && !isForced(request.toolChoice) ? 'budget' : 'left out', request), pointsAt);
  },
  change(request, { change }) {
    const { [effortName]: effort, ...parameters } = request.parameters;
    const limit = parameters['max_completion_tokens'] ?? parameters['max_tokens'];
    const maxTokens = typeof limit === 'number' ? limit : usualMaxTokens;
    const thinking = change === 'budget' && typeof effort === 'string' ? budgetOf(effort, maxTokens) : undefined;
    return { ...request, parameters: { ...parameters, ...(thinking !== undefined && { thinking: { ...thinking } }) } };
  },
  concerns: ({ content }, request) => hasEffort(request) && content === forceOf(request),
};

function hasEffort({ parameters }: ModelRequest): boolean {
  return typeof parameters[effortName] === 'string' && !isJsonObject(ownValue(parameters, 'thinking'));
}

function forceOf({ toolChoice }: ModelRequest): string {
  return isForced(toolChoice) ? 'with a forced call' : '';
}

function lessonAboutThinking(change: 'budget' | 'left out', request: ModelRequest): Omit<Lesson, 'kind'> {
  const warning =
    change === 'budget'
      ? { code: 'parameter_renamed', message: 'The model refuses adaptive thinking; the effort is sent as a budget of tokens.' }
      : { code: 'parameter_refused', message: `The model refuses ${effortName}; it is asked without it.` };
  return { subject: effortName, change, content: forceOf(request), warning };
}

/** Models that always think cannot be made to call a function. */
const forcedCallField: RefusedField = {
  subjects: ['tool_choice'],
  recognise({ refusal, request, made }) {
    const pointsAt = /\btool_choice\b|\bforces? tool use\b/.exec(refusal.message)?.[0];
    if (pointsAt === undefined || !isForced(request.toolChoice) || isMade(made, 'tool_choice')) return undefined;
    const warning = {
      code: 'tool_choice_refused',
      message: 'The model refuses a forced call; it decides itself whether to call a function.',
    };
    return own({ subject: 'tool_choice', change: 'auto', content: '', warning }, pointsAt);
  },
  change: (request) => ({ ...request, toolChoice: 'auto' }),
  concerns: (_lesson, { toolChoice }) => isForced(toolChoice),
};

const fields = [samplingField, thinkingField, forcedCallField];

/** Asks again without a field that the model refuses, or with what it takes instead. All of them are what the caller has chosen, so it is theirs alone. */
export const fieldRemedy: Remedy = {
  kinds: ['parameter'],
  maxRepeats: 7,
  reason: 'request_refused',
  recognise(refused) {
    if (!isRefusalOfRequest(refused.refusal)) return undefined;
    for (const field of fields) {
      const recognised = field.recognise(refused);
      if (recognised !== undefined) return recognised;
    }
    return undefined;
  },
  change: (request, lesson) => fieldOf(lesson)?.change(request, lesson) ?? request,
  concerns: (lesson, request) => fieldOf(lesson)?.concerns(lesson, request) === true,
};

function fieldOf({ subject }: Lesson): RefusedField | undefined {
  return fields.find(({ subjects }) => subjects.includes(subject));
}

function own(lesson: Omit<Lesson, 'kind'>, pointsAt: string): Recognised {
  return { lesson: { kind: 'parameter', ...lesson }, pointsAt, rule: 'own' };
}

function isMade(made: readonly Lesson[], name: string): boolean {
  return made.some(({ subject }) => subject === name);
}

function isRefusalOfRequest({ code, status }: GatewayError): boolean {
  return code === 'upstream_rejected' && (status === 400 || status === 422);
}
