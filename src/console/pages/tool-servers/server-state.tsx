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

/** How a tool server is, in a word or two. */
export function State({ server: { type, config, report } }: StateProps): JSX.Element {
  if (config['enable'] === false) return <span class="chip">off</span>;
  const { ok, credential, held = [], functions, next_try_ms: nextTryMs } = report;
  if (credential === 'own') return <span class="chip good">for people who connect</span>;
  if (credential === 'refused') return <span class="chip bad">wants a credential</span>;
  if (!ok && functions.length > 0) return <span class="chip warn">down, its functions stay</span>;
  if (!ok) return <span class="chip bad">{nextTryMs === undefined ? 'does not work' : 'down, is tried again'}</span>;
  if (held.length > 0) return <span class="chip warn">{formatCount(held.length, 'changed definition')}</span>;
  return <span class="chip good">{type === 'mcp' ? 'connected' : 'ready'}</span>;
}
