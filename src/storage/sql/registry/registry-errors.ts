import { GatewayError } from '../../../core/errors.ts';

export function taken(kind: string, id: string): GatewayError {
  return new GatewayError('conflict', `There is already a ${kind} "${id}". Change that one, or choose another id.`);
}

export function missing(kind: string, id: string): GatewayError {
  return new GatewayError('not_found', `There is no ${kind} "${id}".`);
}
