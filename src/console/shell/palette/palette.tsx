import type { JSX } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { Dialog } from '../../parts/dialog.tsx';
import { Icon } from '../../parts/icon.tsx';
import { findEntries, usePaletteEntries, type Entry } from './palette-entries.ts';

/** Finds chats, pages, tool servers, functions and models by words of their names, and opens the chosen one. */
export function Palette({ onClose }: { onClose: () => void }): JSX.Element {
  const [, go] = useLocation();
  const [search, setSearch] = useState('');
  const [at, setAt] = useState(0);
  const id = useId();
  const entries = findEntries(usePaletteEntries(), search);
  const chosen = entries[Math.min(at, entries.length - 1)];
  const optionId = (entry: Entry): string => `${id}-${entries.indexOf(entry)}`;
  useEffect(() => {
    if (chosen !== undefined) document.getElementById(optionId(chosen))?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);
  const open = ({ path }: Entry): void => {
    onClose();
    go(path);
  };
  const onKeyDown = (event: JSX.TargetedKeyboardEvent<HTMLInputElement>): void => {
    if (event.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && entries.length > 0) {
      event.preventDefault();
      setAt((before) => (Math.min(before, entries.length - 1) + step + entries.length) % entries.length);
    } else if (event.key === 'Enter' && chosen !== undefined) {
      event.preventDefault();
      open(chosen);
    }
  };
  return (
    <Dialog title="Go to" onClose={onClose}>
      <input
        type="text"
        autocomplete="off"
        autofocus
        role="combobox"
        aria-label="Find a chat, page, tool or model"
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={chosen === undefined ? undefined : optionId(chosen)}
        placeholder="Chat, page, tool or model"
        value={search}
        onInput={({ currentTarget: { value } }) => {
          setSearch(value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div class="palette-list" id={`${id}-list`} role="listbox" aria-label="Results">
        {entries.map((entry) => (
          <div
            key={`${entry.kind} ${entry.path} ${entry.name}`}
            id={optionId(entry)}
            class="palette-entry"
            role="option"
            tabIndex={-1}
            aria-selected={entry === chosen}
            onClick={() => open(entry)}
          >
            <Icon name={entry.icon} size={16} />
            <span class="cut" dir="auto">
              {entry.name}
            </span>
            <span class="soft small">{entry.kind}</span>
          </div>
        ))}
      </div>
      <p class="soft small palette-none" role="status">
        {entries.length === 0 && 'No matches.'}
      </p>
    </Dialog>
  );
}
