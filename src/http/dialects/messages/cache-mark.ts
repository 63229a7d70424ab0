import { isJsonObject, ownValue, type JsonObject } from '../../../shared/json/json.ts';
import type { Body } from './messages-body-schema.ts';

/**
 * The last mark up to which a client wants its prompt cached. Its blocks become parts of the gateway's own messages, so where the marks were is not kept: a
 * backend with Anthropic's API marks the end of the instructions and of the conversation, as agents do.
 */
export function cacheMarkIn({ system, tools, messages, cache_control: mark }: Body): JsonObject {
  const contents = [system, ...messages.map(({ content }) => content)].filter((content) => Array.isArray(content));
  const marks = [...(tools ?? []), ...contents.flat()].map((block) => ownValue(block as JsonObject, 'cache_control'));
  const last = [...marks, mark].findLast(isJsonObject);
  return last === undefined ? {} : { cache_control: last };
}
