import { readToolServers } from './browser-servers.ts';
import type { Chat, Message } from './chat.ts';
import { toFiles, toModelMessages } from './model-messages.ts';

/** A frame of the gateway may have one megabyte. */
const maxMessageBytes = 1_000_000;
const bodyTooLarge = {
  code: 'body_too_large',
  message:
    'This chat is too large to send: with its files and the tool servers of this browser it exceeds 1 MB. Start a new chat, attach less, or turn off a server.',
};

/** The fields of a `message` frame that asks for an answer to this branch. `tooLarge`: the error if it cannot be sent. */
export async function createChatRequest(
  { id, settings }: Pick<Chat, 'id' | 'settings'>,
  branch: readonly Message[],
): Promise<{ fields: Record<string, unknown>; warnings: string[]; tooLarge?: typeof bodyTooLarge }> {
  const { model, mode, toolIds, system, temperature, maxTokens, reasoningEffort } = settings;
  const files = toFiles(branch);
  const { servers, missing } = await readToolServers();
  const fields = {
    messages: toModelMessages(branch, system),
    chat_id: id,
    ...(model !== undefined && { model }),
    ...(mode !== undefined && { mode }),
    ...(toolIds !== undefined && { tool_ids: toolIds }),
    ...(temperature !== undefined && { temperature }),
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
    ...(reasoningEffort !== undefined && { reasoning_effort: reasoningEffort }),
    ...(servers.length > 0 && { tool_servers: servers }),
    ...(files.length > 0 && { files }),
  };
  return {
    fields,
    warnings: missing.map((name) => `This browser cannot reach ${name}, so its functions are not available.`),
    ...(new Blob([JSON.stringify(fields)]).size > maxMessageBytes && { tooLarge: bodyTooLarge }),
  };
}
