import { GatewayError } from '../errors.ts';
import { isModelAllowed, type Caller } from './caller.ts';

/** Ids listed in an error message; more would bury its point. */
const maxListed = 20;

/**
 * Responds the same for existing and missing models, so that a restricted key learns nothing about others.
 * @throws GatewayError `forbidden`
 */
export function requireModel(caller: Caller, id: string): void {
  if (isModelAllowed(caller, id)) return;
  const models = caller.models ?? [];
  const listed = models.length === 0 ? 'none' : models.slice(0, maxListed).join(', ');
  throw new GatewayError('forbidden', `model: this key may not use "${id.slice(0, 200)}". It may use: ${listed}.`, { param: 'model' });
}
