import type { ComponentType } from 'preact';
import type { IconName } from '../parts/icon.tsx';

export interface PageProps {
  /** The parameters of the path: `/console/runs/:id` gives `{ id }`. */
  params: Readonly<Record<string, string | undefined>>;
}

export interface ConsolePage {
  /** The path that the navigation links to. */
  path: string;
  /** All paths of the page, with `:name` for parameters. Default: only `path`. */
  routes?: readonly string[];
  title: string;
  icon: IconName;
  /** Pages for operating the gateway (`run`) are in a separate group. */
  group: 'use' | 'run';
  /** The gateway refuses its requests for user keys. */
  isForAdministrators?: true;
  /** Called when the page is first opened. */
  load: () => Promise<{ Page: ComponentType<PageProps> }>;
}
