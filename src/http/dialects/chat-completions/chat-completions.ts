import type { Dialect } from '../dialect.ts';
import { isOpenWebUi } from '../requests/is-open-webui.ts';
import { chatCompletionFormat } from './openai-wire.ts';
import { parseChatBody } from './parse-chat-body.ts';

/** OpenAI's chat completions, with Open WebUI's fields. */
export const chatCompletions: Dialect = {
  name: 'chat-completions',
  paths: ['/v1/chat/completions', '/api/chat/completions', '/api/v1/chat/completions'],
  parse: parseChatBody,
  format: chatCompletionFormat,
  // Others wait for the end of an answer before they show it, or show what waits themselves.
  waitsForDecision: isOpenWebUi,
};
