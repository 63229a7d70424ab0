import type { JSX } from 'preact';

/** Paths on a 20 × 20 grid. */
const paths = {
  add: 'M10 4v12M4 10h12',
  alert: 'M10 3.2 18 17H2zM10 8v4M10 14.4v.1',
  arrowUp: 'M10 16V4M5 9l5-5 5 5',
  attach: 'M15.500 9l-6 6a3.500 3.500 0 0 1-5-5l6.500-6.500a2.300 2.300 0 0 1 3.300 3.300L8 13a1 1 0 0 1-1.500-1.500l5.500-5.500',
  back: 'M12 4l-6 6 6 6',
  branch: 'M6 3v14M6 10c6 0 8-1 8-4M14 3v3',
  chart: 'M3 17h14M6 17V9M10 17V4M14 17v-6',
  chat: 'M3 4h14v10H9l-4 3v-3H3z',
  check: 'M4 10.5l4 4 8-9',
  close: 'M5 5l10 10M15 5L5 15',
  copy: 'M7 7h9v9H7zM4 13V4h9',
  cube: 'M10 2.500l6.500 3.700v7.600L10 17.500l-6.500-3.700V6.200zM3.500 6.200L10 10l6.500-3.800M10 10v7.500',
  dark: 'M16 12A7 7 0 0 1 8 4a7 7 0 1 0 8 8z',
  down: 'M5 8l5 5 5-5',
  download: 'M10 3v10M5.500 8.500l4.500 4.500 4.500-4.500M4 17h12',
  edit: 'M4 16l1-4 8-8 3 3-8 8zM11 6l3 3',
  external: 'M8 4H4v12h12v-4M11 4h5v5M16 4l-7 7',
  eye: 'M2 10c3-5 13-5 16 0-3 5-13 5-16 0zM10 8a2 2 0 1 0 0 4 2 2 0 0 0 0-4z',
  globe: 'M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM3 10h14M10 3c-4 4-4 10 0 14M10 3c4 4 4 10 0 14',
  health: 'M10 16.500l-6.500-6.200a3.800 3.800 0 0 1 6.500-4.300 3.800 3.800 0 0 1 6.500 4.300z',
  info: 'M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM10 9.500v4M10 6.600v.1',
  key: 'M7 9a3.5 3.5 0 1 0 0 2h10v3M13 11v2M7 9',
  leave: 'M8 4H4v12h4M8 10h9M13.500 6.500L17 10l-3.500 3.500',
  light: 'M10 7a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM10 2v2M10 16v2M2 10h2M16 10h2M4.5 4.5L6 6M14 14l1.5 1.5M4.5 15.5L6 14M14 6l1.5-1.5',
  link: 'M8.5 11.5l3-3M7 9l-2.5 2.5a2.8 2.8 0 0 0 4 4L11 13M9 7l2.500-2.500a2.8 2.8 0 0 1 4 4L13 11',
  lock: 'M5 9h10v8H5zM7 9V6a3 3 0 0 1 6 0v3',
  menu: 'M3 5h14M3 10h14M3 15h14',
  more: 'M4 10h.1M10 10h.1M16 10h.1',
  pause: 'M7 5v10M13 5v10',
  people: 'M7.500 9a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2 17c0-7 11-7 11 0M13 3.300a3 3 0 0 1 0 5.500M15 11.500c2 .8 3 2.700 3 5.500',
  person: 'M10 10a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7zM3.500 17.500c0-7 13-7 13 0',
  pin: 'M7 3h6l-1 6 3 3H5l3-3zM10 12v5',
  play: 'M6 4l10 6-10 6z',
  plug: 'M7 3v4M13 3v4M5 7h10v3a5 5 0 0 1-10 0zM10 15v3',
  preset: 'M10 2.500l7.500 3.800L10 10 2.500 6.300zM2.500 10l7.500 3.800 7.500-3.800M2.500 13.700l7.500 3.800 7.500-3.800',
  refresh: 'M16 10a6 6 0 1 1-2-4.500L16 7M16 3v4h-4',
  run: 'M3 10h3l2-6 4 12 2-6h3',
  save: 'M10 3v9.500M6 9l4 4 4-4M4 16.500h12',
  search: 'M9 3a6 6 0 1 0 0 12A6 6 0 0 0 9 3zM13.500 13.500L17 17',
  settings: 'M4 5h12M4 10h12M4 15h12M7 3.500v3M13 8.500v3M8 13.500v3',
  stop: 'M5 5h10v10H5z',
  system: 'M3 4h14v9H3zM7 17h6M10 13v4',
  tool: 'M12.500 3.500a4 4 0 0 0-4.500 5.500L3 14l3 3 5-5a4 4 0 0 0 5.500-4.500L14 10l-3-1-1-3z',
  trash: 'M4 6h12M8 6V4h4v2M6 6l1 11h6l1-11',
} as const;

export type IconName = keyof typeof paths;

/** An icon beside text. If there is no text, its button has a label. */
export function Icon({ name, size = 18 }: { name: IconName; size?: number }): JSX.Element {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 20 20" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}
