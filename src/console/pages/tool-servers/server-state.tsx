import type { JSX } from 'preact';
import type { AnswerOf } from '../../api/api-types.ts';
import { formatCount } from '../../parts/formats.ts';

type Listed = AnswerOf<'GET /api/tool-servers'>['data'][number];

export function State({
  server: { config, report },
}: {
  server: Pick<Listed, 'config'> & { report: Pick<Listed['report'], 'ok' | 'held' | 'warnings'> };
}): JSX.Element {
  if (config['enable'] === false) return <span class="chip">off</span>;
  if (!report.ok) return <span class="chip bad">does not work</span>;
  const held = report.held?.length ?? 0;
  if (held > 0) return <span class="chip warn">{formatCount(held, 'changed definition')}</span>;
  return <span class="chip good">ready</span>;
}
