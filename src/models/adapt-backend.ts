import type { ModelBackend, ModelLessons } from '../core/models/model.ts';
import { constrainOutput, openAiForms, type FormDialect } from './constrain-output.ts';
import { applyRemedies } from './remedies/apply-remedies.ts';
import { callIdRemedy } from './remedies/known/call-ids.ts';
import { callerFunctionRemedy } from './remedies/known/caller-functions.ts';
import { effortRemedy } from './remedies/known/effort.ts';
import { functionRemedy } from './remedies/known/function-schemas.ts';
import { messagesWithCallsRemedy } from './remedies/known/messages-with-calls.ts';
import { outputFormRemedy } from './remedies/known/output-form.ts';
import { parameterRemedy, usageRemedy } from './remedies/known/parameters.ts';
import { prefillRemedy } from './remedies/known/prefill.ts';
import { systemRemedy } from './remedies/known/system-messages.ts';
import { textResultsRemedy } from './remedies/known/text-results.ts';
import { thoughtsRemedy } from './remedies/known/thoughts.ts';
import { turnsRemedy } from './remedies/known/turns.ts';
import { withheldFunctionsRemedy } from './remedies/known/withheld-functions.ts';
import { ownLessons } from './remedies/refusal-memory.ts';
import type { Remedy } from './remedies/remedy.ts';
import { convertOffer } from './schema-profiles/convert-offer.ts';
import type { SchemaProfile } from './schema-profiles/to-profile.ts';

/** What the requests to one backend have to be adapted to. */
export interface BackendForm {
  /** What it understands of JSON Schema. */
  profile: SchemaProfile;
  /** Whether its operator has said so; then the caller's own functions are converted from the start. */
  isProfileStated?: boolean;
  /** How it is asked for structured output. Default: as OpenAI is. */
  forms?: FormDialect;
  /** As in `ModelBackend`. */
  provider?: string;
}

/** All remedies, in the order in which they are tried and in which their changes are made. */
function remediesFor({ profile, forms = openAiForms }: BackendForm, convertsCallers: boolean): readonly Remedy[] {
  return [
    thoughtsRemedy,
    messagesWithCallsRemedy,
    callIdRemedy,
    textResultsRemedy,
    systemRemedy,
    prefillRemedy,
    // After those that move system messages, and add messages of the user.
    turnsRemedy,
    effortRemedy,
    parameterRemedy,
    usageRemedy,
    // Before those that change functions.
    withheldFunctionsRemedy,
    // Before the gateway's functions: what is changed for one caller costs nobody else anything.
    callerFunctionRemedy(profile, convertsCallers),
    functionRemedy,
    // Last, because any refusal may be about the form.
    outputFormRemedy(forms),
  ];
}

/**
 * A backend whose requests have the form that it takes: functions in its profile of JSON Schema, and whatever its refusals have taught. Every kind of
 * backend is adapted here and nowhere else.
 */
export function adaptBackend(
  backend: ModelBackend,
  form: BackendForm,
  lessonsOf: (model: string) => ModelLessons = ownLessons(),
): ModelBackend {
  const { profile, isProfileStated = false, forms = openAiForms } = form;
  // OpenAI's profile is its strict form, which is the caller's to ask for.
  const convertsCallers = isProfileStated && profile !== 'plain' && profile !== 'openai';
  const converting = convertOffer(constrainOutput(backend, forms), profile, convertsCallers ? 'profile' : undefined);
  return applyRemedies(converting, remediesFor(form, convertsCallers), { lessonsOf, provider: form.provider });
}
