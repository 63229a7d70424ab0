import type { JSX } from 'preact';
import type { PageProps } from '../../shell/page.ts';
import { RunList } from './run-list.tsx';
import { RunView } from './run-view.tsx';

/** What the gateway has done in the last 24 hours, and why. */
export function RunsPage({ params: { id } }: PageProps): JSX.Element {
  return id === undefined ? <RunList /> : <RunView key={id} id={id} />;
}
