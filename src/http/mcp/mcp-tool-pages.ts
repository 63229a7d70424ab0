import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import type { ListedTool } from '../../core/tools/tool.ts';
import type { ListedTexts } from '../listed-texts.ts';

/** Bytes of one page, which many clients hold in memory as a whole. The functions of the largest real documents fit, because some read one page only. */
const pageBytes = 1_500_000;

/** `tools`: JSON of the page's functions, separated by commas. */
export interface ToolPage {
  tools: Uint8Array;
  nextCursor?: string;
}

/**
 * A part of the list of tools that can be sent at once. The cursor is the name of the last function of the page before, so that functions that come and go
 * meanwhile move none out of the list. `texts`: of each function, as an MCP tool.
 * @throws ProtocolError for a cursor that names no function
 */
export async function listPage(
  listed: readonly ListedTool[],
  { cursor, texts }: { cursor: string | undefined; texts: ListedTexts<'tools'> },
): Promise<ToolPage> {
  const from = cursor === undefined ? 0 : listed.findIndex(({ name }) => name === cursor) + 1;
  if (cursor !== undefined && from === 0)
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      'The cursor names no function of the list. Ask for the list from its beginning.',
    );
  const { tools } = await texts.of(listed);
  const to = tools.pageEnd(from, pageBytes);
  const last = to < listed.length ? listed[to - 1]?.name : undefined;
  return { tools: tools.part(from, to), ...(last !== undefined && { nextCursor: last }) };
}
