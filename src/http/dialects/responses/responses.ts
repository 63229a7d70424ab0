import { isOpenWebUi } from '../requests/is-open-webui.ts';
import type { Dialect } from '../dialect.ts';
import { parseResponseRequest } from './parse-request.ts';
import { responseFormat } from './response-wire.ts';

/** OpenAI's Responses API. */
export const responses: Dialect = {
  name: 'responses',
  paths: ['/v1/responses'],
  parse: parseResponseRequest,
  format: responseFormat,
  showsCalls: true,
  waitsForDecision: isOpenWebUi,
};
