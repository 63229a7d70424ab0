import type { ModelBackend, ModelLessons, ModelRequest } from '../../core/models/model.ts';
import type { Lesson } from '../../core/models/lesson.ts';
import { applyRemedies } from '../remedies/apply-remedies.ts';
import type { Remedy } from '../remedies/remedy.ts';
import { reasoningItems } from './turn-items.ts';

interface Apis {
  chat: ModelBackend;
  responses: ModelBackend;
}

/**
 * Sends each request to one of OpenAI's two APIs: to chat completions, unless the model needs the Responses API. Some models are known by
 * name; the others are recognised when chat completions refuses them.
 */
export function chooseApi({ chat, responses }: Apis, lessonsOf: (model: string) => ModelLessons): ModelBackend {
  const refused = new WeakSet<ModelRequest>();
  const chosen: ModelBackend = {
    answer: (request, emit) => (refused.has(request) || isKnownToNeedResponses(request) ? responses : chat).answer(request, emit),
  };
  const remedy: Remedy = {
    kinds: ['api'],
    maxRepeats: 1,
    reason: 'request_refused',
    recognise({ refusal, request, made }) {
      if (made.length > 0 || isKnownToNeedResponses(request) || (refusal.status !== 400 && refusal.status !== 404)) return undefined;
      const pointsAt = pointsAtResponses.exec(refusal.message)?.[0];
      return pointsAt === undefined ? undefined : { lesson: usesFunctions(request) ? lessonAboutFunctions : lessonAboutModel, pointsAt };
    },
    change(request) {
      const changed = { ...request };
      refused.add(changed);
      return changed;
    },
    concerns: ({ content }, request) => request.completion === undefined && (content === '' || usesFunctions(request)),
  };
  return applyRemedies(chosen, [remedy], { lessonsOf });
}

/** "Please use /v1/responses instead", "To use function tools, use /v1/responses or …", "This model is only supported in v1/responses". */
const pointsAtResponses = /\b(?:use|only supported in) \/?v1\/responses\b/i;

/** From this version on, chat completions refuses functions while the model reasons. */
const firstWithoutFunctions = [5, 4] as const;
const versionOf = /^(?:ft:)?gpt-(\d+)(?:\.(\d+))?(?![\w.])/;
/** Models that are not available in chat completions. */
const onlyInResponses = /^(?:o\d(?:-mini)?-(?:pro|deep-research)|computer-use-preview|codex-|gpt-\d+(?:\.\d+)?-(?:pro|codex))\b/;

function isKnownToNeedResponses(request: ModelRequest): boolean {
  const { model, parameters, completion } = request;
  if (completion !== undefined) return false;
  if (onlyInResponses.test(model)) return true;
  const [, major, minor = '0'] = versionOf.exec(model) ?? [];
  const [firstMajor, firstMinor] = firstWithoutFunctions;
  const isNew = Number(major) > firstMajor || (Number(major) === firstMajor && Number(minor) >= firstMinor);
  return isNew && parameters['reasoning_effort'] !== 'none' && usesFunctions(request);
}

/** The last answer of a run offers no functions, but its history has the reasoning before the calls. */
function usesFunctions({ tools, callerTools, messages }: ModelRequest): boolean {
  return (
    tools.length + callerTools.length > 0 ||
    messages.some(({ role, extra }) => role === 'assistant' && extra?.[reasoningItems] !== undefined)
  );
}

const warning = { code: 'responses_api', message: 'The model takes functions only in the Responses API; it is asked there.' };
const lessonAboutFunctions: Lesson = { kind: 'api', subject: 'responses', change: 'with functions', content: 'functions', warning };
const lessonAboutModel: Lesson = {
  kind: 'api',
  subject: 'responses',
  change: 'always',
  content: '',
  warning: { ...warning, message: 'The model is only in the Responses API; it is asked there.' },
};
