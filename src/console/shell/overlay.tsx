import type { ComponentType, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { showError } from '../parts/toasts.tsx';
import { listenToShortcuts, overlay } from './shortcuts.ts';

type OverlayDialog = ComponentType<{ onClose: () => void }>;

/** Loaded when they are first opened. */
const dialogs: Readonly<Record<'palette' | 'shortcuts', () => Promise<OverlayDialog>>> = {
  palette: async () => (await import('./palette/palette.tsx')).Palette,
  shortcuts: async () => (await import('./palette/shortcuts-dialog.tsx')).ShortcutsDialog,
};

/** The dialogs that shortcuts open on any page. */
export function Overlay(): JSX.Element | null {
  const [loaded, setLoaded] = useState<{ name: string; Shown: OverlayDialog }>();
  const name = overlay.value;
  useEffect(listenToShortcuts, []);
  useEffect(() => {
    if (name !== undefined) dialogs[name]().then((Shown) => setLoaded({ name, Shown }), showError);
  }, [name]);
  if (name === undefined || loaded?.name !== name) return null;
  const { Shown } = loaded;
  return <Shown onClose={() => (overlay.value = undefined)} />;
}
