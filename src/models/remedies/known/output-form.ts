import type { GatewayError } from '../../../core/errors.ts';
import type { Lesson } from '../../../core/models/lesson.ts';
import type { ModelRequest, OutputDegree, OutputForm } from '../../../core/models/model.ts';
import type { EmptyAnswer, FormDialect } from '../../constrain-output.ts';
import { hashOf } from '../hash-content.ts';
import { aboutMakingGrammar, isAboutOutput, wordsOf } from '../refusal-wordings.ts';
import type { Recognised, Refused, Remedy } from '../remedy.ts';

const degrees: readonly OutputDegree[] = ['schema', 'json', 'none'];
/** Three degrees, with and without reasoning, and the first one once more. */
const maxVariants = 7;

/**
 * For a backend that refuses the form of an answer, or returns an empty one under it: it is asked for any JSON, then for no form at all. A model that
 * only reasons first gets its reasoning disabled. An empty answer by itself teaches nothing about the form. That a model needs its reasoning disabled
 * is remembered for the caller, whose words may be why it said nothing, unless its reasoning ended at a token limit, which callers set.
 */
export function outputFormRemedy(dialect: FormDialect): Remedy {
  function recogniseSilence({ request, sent, recalled, silence }: Silent): Recognised | undefined {
    if (request.output === undefined || sent.output === undefined) return undefined;
    const mayDisable = sent.output.reasoning === undefined && dialect.withoutReasoning(request.parameters) !== undefined;
    if (!silence.hasReasoning || !mayDisable) return nextVariant({ form: request.output, sent: sent.output, recalled, failure: silence });
    const lesson = lessonAboutReasoning('disabled');
    return { lesson, pointsAt: undefined, rule: 'own', reason: 'no_words', ...(silence.isCut && { memory: 'drop' }) };
  }

  return {
    kinds: ['form', 'reasoning'],
    maxRepeats: maxVariants,
    mayGuess: true,
    reason: 'form_refused',
    recognise,
    recogniseSilence,
    change,
    concerns: ({ kind, change: changed, content }, { output }) =>
      output !== undefined && (kind === 'reasoning' ? changed === 'disabled' : content === hashOf(output)),
  };
}

type Silent = Omit<Refused, 'refusal'> & { silence: EmptyAnswer };

function recognise({ refusal, request, sent, recalled }: Refused): Recognised | undefined {
  if (request.output === undefined || sent.output === undefined || !refusesForm(refusal)) return undefined;
  const { degree, reasoning } = sent.output;
  if (degree === 'none' && reasoning !== 'disabled') return undefined;
  return nextVariant({ form: request.output, sent: sent.output, recalled, failure: refusal });
}

interface FailedVariant {
  form: OutputForm;
  sent: OutputForm;
  recalled: readonly Lesson[];
  failure: GatewayError | EmptyAnswer;
}

/** Less is enforced, with reasoning again if it was disabled. */
function nextVariant({ form, sent, recalled, failure }: FailedVariant): Recognised {
  const refusal = 'code' in failure ? failure : undefined;
  const { degree = 'schema', reasoning } = sent;
  const isDisabled = reasoning === 'disabled';
  const wasDisabled = recalled.some(({ kind }) => kind === 'reasoning');
  const known = recalled.find(({ kind }) => kind === 'form')?.change ?? 'schema';
  const enabled: Recognised = {
    lesson: lessonAboutReasoning('enabled'),
    pointsAt: undefined,
    rule: 'own',
    reason: refusal === undefined ? 'no_words' : 'form_refused',
    ...(!(wasDisabled && !isCut(failure)) && { memory: 'drop' }),
  };
  // A first variant without reasoning was never tried with it.
  if (isDisabled && wasDisabled && degree === known) return enabled;
  const next = degrees[degrees.indexOf(degree) + 1] ?? 'none';
  const lowered: Recognised = {
    lesson: lessonAboutForm(next, form),
    pointsAt: refusal && wordsAboutForm(refusal),
    reason: refusal === undefined ? 'no_words' : 'form_refused',
    ...((refusal === undefined || isDisabled) && { memory: 'keep' }),
  };
  return isDisabled ? { ...lowered, also: enabled } : lowered;
}

function isCut(failure: GatewayError | EmptyAnswer): boolean {
  return 'isCut' in failure && failure.isCut;
}

function change(request: ModelRequest, { kind, change: changed }: Lesson): ModelRequest {
  const { output } = request;
  if (output === undefined) return request;
  if (kind === 'reasoning') return { ...request, output: { ...output, reasoning: changed === 'disabled' ? 'disabled' : 'enabled' } };
  return { ...request, output: { ...output, degree: degrees.find((degree) => degree === changed) ?? 'none' } };
}

function lessonAboutForm(degree: OutputDegree, form: OutputForm): Lesson {
  const how = degree === 'none' ? 'without one' : 'with less strict enforcement';
  const message = `The model refuses a form of structured output; it is asked ${how}.`;
  return { kind: 'form', subject: '', change: degree, content: hashOf(form), warning: { code: 'form_relaxed', message } };
}

function lessonAboutReasoning(changed: 'disabled' | 'enabled'): Lesson {
  const message = 'The model only reasons where structured output is asked for; its reasoning is disabled there.';
  return { kind: 'reasoning', subject: '', change: changed, content: '', warning: { code: 'form_relaxed', message } };
}

/**
 * Refusals have too many wordings to list. An internal error of the server counts if it mentions the form, and so does a crash of Ollama's runner.
 */
function refusesForm(error: GatewayError): boolean {
  if (error.code === 'upstream_rejected') return [400, 415, 422, 501].includes(error.status);
  return error.code === 'upstream_error' && /format|schema|grammar|json|structured|runner has unexpectedly stopped/i.test(error.message);
}

/** The words that can only be about the form. Undefined for a crash or what the model wrote, which may have any cause. */
function wordsAboutForm(error: GatewayError): string | undefined {
  if (isAboutOutput(error.message)) return undefined;
  const words = wordsOf(error);
  return (aboutForm.exec(words) ?? aboutMakingGrammar.exec(words))?.[0];
}

const aboutForm =
  /response_format|text\.format|output_config|json_schema|json_object|guided_json|structured[ _]outputs?|\binvalid schema\b|\binvalid format\b/i;
