import type { ChatRequest } from '../../../core/chat/chat.ts';
import { estimateTokens } from '../../../shared/text/estimate-tokens.ts';
import { withSystemParam } from '../requests/gateway-fields.ts';
import { parseFields, requireBoundedBody } from '../requests/parse-fields.ts';
import { countedSchema } from './messages-body-schema.ts';
import { readConversation } from './read-messages.ts';
import { readTools } from './read-tools.ts';

/**
 * An estimate of the tokens of a request as it was sent, without the tools of the gateway: which of them are offered is decided with the answer.
 * @throws GatewayError `invalid_request` with `param` set to the first field at fault
 */
export function countTokens(value: unknown): Pick<ChatRequest, 'model'> & { tokens: number } {
  const body = parseFields(countedSchema, requireBoundedBody(value, 'a JSON object with model and messages'));
  const { messages } = readConversation(body);
  const { callerFunctions } = readTools(body);
  const tools = callerFunctions.map(({ wire }) => wire);
  return { model: body.model, tokens: estimateTokens({ messages: withSystemParam(messages, body.params), tools }) };
}
