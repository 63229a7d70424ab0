import type { GatewayError } from '../../../core/errors.ts';
import type { Lesson } from '../../../core/models/lesson.ts';
import type { ModelRequest } from '../../../core/models/model.ts';
import { findWords, refusesRequest, wordsOf } from '../refusal-wordings.ts';
import type { Recognised, Refused, Remedy } from '../remedy.ts';

/** `none`: the effort is set to that; `left out`: no effort is sent, for servers that do not know `none`. */
type Change = 'none' | 'left out';

const aboutFunctionsWithReasoning = [
  /\b(?:function )?tools?\b[^.]{0,20}\bwith reasoning[_ ]effort\b[^.]{0,20}\bnot\b/i,
  /\breasoning[_ ]effort\b['"`]?[^.]{0,40}\b(?:not|cannot|can't|unsupported|incompatible)\b[^.]{0,40}\b(?:function|tool)s?\b/i,
  /\b(?:function|tool)s?\b[^.]{0,40}\b(?:not|cannot|can't|unsupported|incompatible|require)\b[^.]{0,40}\breasoning[_ ]effort\b/i,
];

/** Whether a model refuses functions because it would reason, as current ones of OpenAI do on chat completions. */
export function refusesFunctionsWithReasoning(refusal: GatewayError): boolean {
  return wordsOfRefusal(refusal) !== undefined;
}

function wordsOfRefusal(refusal: GatewayError): string | undefined {
  return refusal.code === 'tools_unsupported' || refusesRequest(refusal) ? findWords(refusal, aboutFunctionsWithReasoning) : undefined;
}

/** Offers functions without reasoning where a model takes only one of them. Some refuse both even if no effort was asked for. */
export const effortRemedy: Remedy = {
  kinds: ['effort'],
  maxRepeats: 2,
  reason: 'request_refused',
  recognise,
  change(request, { change }) {
    const { reasoning_effort: _effort, ...parameters } = request.parameters;
    return { ...request, parameters: change === 'left out' ? parameters : { ...parameters, reasoning_effort: 'none' } };
  },
  concerns: ({ content }, request) =>
    hasFunctions(request) && effortOf(request) !== 'none' && (content === 'any effort' || content === contentOf(request)),
};

function recognise({ refusal, request, sent, made }: Refused): Recognised | undefined {
  if (!hasFunctions(sent)) return undefined;
  const before = made.find(({ kind }) => kind === 'effort')?.change;
  if (before === undefined) {
    const pointsAt = effortOf(sent) === 'none' ? undefined : wordsOfRefusal(refusal);
    return pointsAt === undefined ? undefined : { lesson: lessonAbout('none', request), pointsAt };
  }
  // Nothing was asked for, so there is nothing to leave out.
  if (before === 'left out' || effortOf(request) === undefined) return undefined;
  const pointsAt = /reasoning[._]effort/.exec(wordsOf(refusal))?.[0];
  return pointsAt === undefined ? undefined : { lesson: lessonAbout('left out', request), pointsAt };
}

function lessonAbout(change: Change, request: ModelRequest): Lesson {
  const message = 'The model takes functions only without reasoning; it is asked not to reason.';
  return { kind: 'effort', subject: '', change, content: contentOf(request), warning: { code: 'reasoning_disabled', message } };
}

/** A model that refuses functions although no effort was asked for refuses them with every effort. */
function contentOf(request: ModelRequest): string {
  return effortOf(request) === undefined ? 'any effort' : 'an effort';
}

function effortOf({ parameters }: ModelRequest): unknown {
  return parameters['reasoning_effort'] ?? undefined;
}

function hasFunctions({ tools, callerTools }: ModelRequest): boolean {
  return tools.length + callerTools.length > 0;
}
