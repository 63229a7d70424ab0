import { setImmediate as nextTurn } from 'node:timers/promises';
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import type { Tool as McpTool } from '@modelcontextprotocol/server';
import type { ListedTool } from '../../core/tools/tool.ts';
import { toMcpTool } from './mcp-result.ts';

/** Characters of one page, which the SDK serializes at once. The functions of the largest real documents fit, because many clients read one page. */
const pageCharacters = 1_500_000;
/** What is built in one turn of the event loop: little, because a schema may have been cut out of one of a megabyte. */
const turnCharacters = 8 * 1024;

/**
 * A part of the list of tools that can be sent at once. The cursor is the name of the last function of the page before, so that functions that come and go
 * meanwhile move none out of the list.
 * @throws ProtocolError for a cursor that names no function
 */
export async function listPage(
  listed: readonly ListedTool[],
  { cursor, gatewayId }: { cursor: string | undefined; gatewayId: string },
): Promise<{ tools: McpTool[]; nextCursor?: string }> {
  const last = cursor === undefined ? -1 : listed.findIndex(({ name }) => name === cursor);
  if (cursor !== undefined && last === -1)
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      'The cursor names no function of the list. Ask for the list from its beginning.',
    );
  const tools: McpTool[] = [];
  let characters = 0;
  let inThisTurn = 0;
  for (const tool of listed.slice(last + 1)) {
    const previous = tools.at(-1)?.name;
    if (previous !== undefined && characters >= pageCharacters) return { tools, nextCursor: previous };
    const shown = toMcpTool(tool, gatewayId);
    const { length } = JSON.stringify(shown);
    tools.push(shown);
    characters += length;
    inThisTurn += length;
    if (inThisTurn < turnCharacters) continue;
    inThisTurn = 0;
    await nextTurn();
  }
  return { tools };
}
