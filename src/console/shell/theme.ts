import { effect, signal } from '@preact/signals';
import { readItem, writeItem } from '../storage/local-items.ts';

export const themes = ['system', 'light', 'dark'] as const;
type Theme = (typeof themes)[number];

export const theme = signal<Theme>(themes.find((name) => name === readItem('theme')) ?? 'system');

export function applyTheme(): void {
  effect(() => {
    document.documentElement.dataset['theme'] = theme.value;
    writeItem('theme', theme.value);
  });
}
