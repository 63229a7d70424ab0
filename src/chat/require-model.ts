import type { Caller } from '../core/caller.ts';
import { GatewayError } from '../core/errors.ts';

/** Ids that an error message lists; more would bury its point. */
const maxListed = 20;

/** Whether the caller's key may use a model. An entry without a tag means its `latest` too, as it does everywhere else. */
export function isModelAllowed({ models }: Caller, id: string): boolean {
  return models === undefined || models.some((entry) => entry === id || `${entry}:latest` === id);
}

/**
 * The same answer for models that exist and ones that do not: a limited key learns nothing about the others.
 * @throws GatewayError `forbidden`
 */
export function requireModel(caller: Caller, id: string): void {
  if (isModelAllowed(caller, id)) return;
  const models = caller.models ?? [];
  const listed = models.length === 0 ? 'none' : models.slice(0, maxListed).join(', ');
  throw new GatewayError('forbidden', `model: this key may not use "${id.slice(0, 200)}". It may use: ${listed}.`, { param: 'model' });
}
