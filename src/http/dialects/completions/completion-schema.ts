import { z } from 'zod';
import { gatewayFields, jsonObject } from '../requests/gateway-fields.ts';

const text = z.string();
/** Unknown fields are parameters for the backend. */
export const completionSchema = z.looseObject({
  ...gatewayFields.shape,
  model: z.string().min(1, 'must name a model').max(256),
  prompt: z.union([text, z.array(text).length(1)], 'must be one string, not token ids; send one request per prompt'),
  suffix: text.nullish(),
  stream: z.boolean().nullish(),
  n: z.int().positive().max(128).nullish(),
  stream_options: jsonObject.nullish(),
});
