import type { JSX } from 'preact';
import type { AnswerOf } from '../../api/api-types.ts';
import { formatCount } from '../../parts/text/formats.ts';

type Listed = AnswerOf<'GET /api/tool-servers'>['data'][number];

interface StateProps {
  server: Pick<Listed, 'config' | 'type'> & {
    report: Pick<Listed['report'], 'ok' | 'credential' | 'next_try_ms'> & {
      held?: readonly unknown[] | undefined;
      functions: readonly unknown[];
    };
  };
}

/** The state of a tool server in a word or two. */
export function State({ server: { type, config, report } }: StateProps): JSX.Element {
  if (config['enable'] === false) return <span class="chip">off</span>;
  const { ok, credential, held = [], functions, next_try_ms: nextTryMs } = report;
  if (credential === 'own') return <span class="chip good">connects per user</span>;
  if (credential === 'refused') return <span class="chip bad">needs authentication</span>;
  if (!ok && functions.length > 0) return <span class="chip warn">down, using last known functions</span>;
  if (!ok) return <span class="chip bad">{nextTryMs === undefined ? 'failed' : 'down, retrying'}</span>;
  if (held.length > 0) return <span class="chip warn">{formatCount(held.length, 'changed definition')}</span>;
  return <span class="chip good">{type === 'mcp' ? 'connected' : 'ready'}</span>;
}
