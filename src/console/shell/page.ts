import type { ComponentType } from 'preact';
import type { IconName } from '../parts/icon.tsx';

export interface PageProps {
  /** Of the path: `/console/runs/:id` gives `{ id }`. */
  params: Readonly<Record<string, string | undefined>>;
}

export interface ConsolePage {
  /** Where the navigation leads. */
  path: string;
  /** All addresses of the page, with `:name` for what differs; default: `path` alone. */
  routes?: readonly string[];
  title: string;
  icon: IconName;
  /** Pages for those who run the gateway stand apart. */
  group: 'use' | 'run';
  /** Everything on it is refused to a user's key. */
  isForAdministrators?: true;
  /** Loaded when it is first opened. */
  load: () => Promise<{ Page: ComponentType<PageProps> }>;
}
