import type { ModelBackend, ModelLessons } from '../core/models/model.ts';
import { applyRemedies } from './remedies/apply-remedies.ts';
import { functionRemedy } from './remedies/known/function-schemas.ts';
import { parameterRemedy, usageRemedy } from './remedies/known/parameters.ts';
import { ownLessons } from './remedies/refusal-memory.ts';
import type { Remedy } from './remedies/remedy.ts';
import { convertOffer } from './schema-profiles/convert-offer.ts';
import type { SchemaProfile } from './schema-profiles/to-profile.ts';

/** What the requests to one backend have to be adapted to. */
export interface BackendForm {
  /** What it understands of JSON Schema. */
  profile: SchemaProfile;
}

/** All remedies, in the order in which they are tried and in which their changes are made. */
const remedies: readonly Remedy[] = [parameterRemedy, usageRemedy, functionRemedy];

/**
 * A backend whose requests have the form that it takes: functions in its profile of JSON Schema, and whatever its refusals have taught. Every kind of
 * backend is adapted here and nowhere else.
 */
export function adaptBackend(
  backend: ModelBackend,
  { profile }: BackendForm,
  lessonsOf: (model: string) => ModelLessons = ownLessons(),
): ModelBackend {
  return applyRemedies(convertOffer(backend, profile), remedies, lessonsOf);
}
