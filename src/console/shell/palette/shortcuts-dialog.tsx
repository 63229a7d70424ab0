import type { JSX } from 'preact';
import { Dialog } from '../../parts/dialog.tsx';
import { isMac } from '../shortcuts.ts';

const command = isMac ? '⌘' : 'Ctrl';

const shortcuts: readonly (readonly [keys: readonly string[], meaning: string])[] = [
  [[command, 'K'], 'Find a chat, page, tool or model'],
  [[command, 'Shift', 'O'], 'New chat'],
  [['/'], 'Go to the question field'],
  [['Enter'], 'Send'],
  [['Shift', 'Enter'], 'New line'],
  [['Esc'], 'Stop the answer, or close'],
  [['?'], 'Show these shortcuts'],
];

export function ShortcutsDialog({ onClose }: { onClose: () => void }): JSX.Element {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl class="shortcuts">
        {shortcuts.map(([keys, meaning]) => (
          <div key={meaning}>
            <dt>{meaning}</dt>
            <dd>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
