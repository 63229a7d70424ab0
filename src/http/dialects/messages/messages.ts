import type { Dialect } from '../dialect.ts';
import { messageFormat } from './message-answer.ts';
import { messagesErrors } from './messages-errors.ts';
import { parseMessagesBody } from './parse-messages-body.ts';

/** Anthropic's Messages. */
export const messages: Dialect = {
  name: 'messages',
  paths: ['/v1/messages'],
  parse: parseMessagesBody,
  format: messageFormat,
  errors: messagesErrors,
  // Clients look for the call of each result that they are shown.
  showsCalls: true,
};
