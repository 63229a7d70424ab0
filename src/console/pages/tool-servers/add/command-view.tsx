import type { JSX } from 'preact';
import { CodeBlock } from '../../../parts/code-block.tsx';
import { Icon } from '../../../parts/icon.tsx';
import { toConfigLines, variablesIn } from './command-lines.ts';
import type { CommandServer } from './pasted-server.ts';

/** The lines that start servers of commands. Whoever names a command runs it on the gateway's machine, so no page may. */
export function CommandView({ servers }: { servers: readonly CommandServer[] }): JSX.Element {
  const variables = variablesIn(servers);
  return (
    <section class="stack">
      <div class="notice">
        <Icon name="info" />
        <p>
          {servers.length === 1 ? 'This server is a program. ' : 'These servers are programs. '}
          Only the gateway’s own file may start programs. Add these lines to <code>toolwharf.yaml</code>, and restart the gateway.
        </p>
      </div>
      <CodeBlock language="toolwharf.yaml" code={toConfigLines(servers)} />
      <p class="soft small">
        If the file has <code>tool_servers</code> already, add only the lines below it.
        {variables.length > 0 && (
          <>
            {' Set '}
            {variables.map((name, index) => (
              <span key={name}>
                {index > 0 && ', '}
                <code>{name}</code>
              </span>
            ))}
            {' in the gateway’s environment first.'}
          </>
        )}
      </p>
    </section>
  );
}
