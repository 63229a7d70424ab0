import { invalidField } from '../../../core/errors.ts';
import type { CommonBody } from './ollama-body-schema.ts';

/** The model that a request names; older clients do so in `name`. @throws GatewayError `invalid_request` */
export function namedModel({ model, name }: Pick<CommonBody, 'model' | 'name'>): string {
  const id = model || name || '';
  if (id === '') throw invalidField('model', 'is missing; it must name a model');
  return id;
}
