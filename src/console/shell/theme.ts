import { effect, signal } from '@preact/signals';

export const themes = ['system', 'light', 'dark'] as const;
type Theme = (typeof themes)[number];

const place = 'toolwharf.theme';

export const theme = signal<Theme>(themes.find((name) => name === localStorage.getItem(place)) ?? 'system');

export function applyTheme(): void {
  effect(() => {
    document.documentElement.dataset['theme'] = theme.value;
    localStorage.setItem(place, theme.value);
  });
}
