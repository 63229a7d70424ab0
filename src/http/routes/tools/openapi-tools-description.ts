import { z } from 'zod';
import { json, type RouteDescriptions } from '../../description/route-description.ts';
import { anyObject, errorShape } from '../../description/shared-schemas.ts';
import { failureShape } from './tools-description.ts';

export const openApiToolDescriptions = {
  'GET /api/tools/openapi.json': {
    tag: 'Tools',
    summary: 'The functions as an OpenAPI document',
    description: 'With an operation for each function that the key may use, for clients that take tools of OpenAPI servers.',
    answers: { 200: json('An OpenAPI 3.1 document.', z.looseObject({ openapi: z.string(), paths: anyObject })) },
  },
  'POST /api/tools/:name/call': {
    tag: 'Tools',
    summary: 'Run a function, for OpenAPI clients',
    description: 'The body holds the arguments themselves, and the answer is the bare result.',
    params: { name: 'The name of the function.' },
    body: { schema: anyObject, isOptional: true, example: { timezone: 'Asia/Tokyo' } },
    answers: {
      200: json('The result. Files are `data:` URIs, in a list after what is said beside them.', z.unknown()),
      400: json('The arguments do not fit.', z.union([failureShape, errorShape])),
      409: json('The call needs an approval that cannot be requested here, or a credential that the caller has not stored.', failureShape),
      502: json('It failed.', failureShape),
      504: json('It took too long.', failureShape),
    },
  },
} satisfies RouteDescriptions;
