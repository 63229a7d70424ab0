import type { JSX } from 'preact';
import { Link } from 'wouter-preact';
import { mayAdminister } from '../../../api/access.ts';
import type { AnswerOf } from '../../../api/api-types.ts';
import { formatCount } from '../../../parts/text/formats.ts';

type Tools = AnswerOf<'GET /api/tools'>['data'];

/** The tools that a new chat uses. `toolIds`: those that were chosen for it. */
export function toolsInUse(tools: Tools, toolIds: readonly string[] | undefined): Tools {
  if (toolIds === undefined) return tools;
  const chosen = new Set(toolIds);
  return tools.filter(({ id, server }) => chosen.has(id) || chosen.has(`server:${server}`));
}

/** How many tools are on, and where to add more. */
export function ToolsLine({ tools }: { tools: Tools }): JSX.Element {
  const servers = new Set(tools.flatMap(({ kind, server }) => (kind === 'function' || kind === 'preset' ? [] : [server])));
  const count = tools.length === 0 ? 'No tools' : formatCount(tools.length, 'tool');
  return (
    <p class="welcome-tools soft">
      {servers.size === 0 ? count : `${count} from ${formatCount(servers.size, 'server')}`}
      {mayAdminister.value === true && (
        <>
          {' · '}
          <Link href="/console/tool-servers?add">Add</Link>
        </>
      )}
    </p>
  );
}
