import type { ComponentChildren, JSX } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';

interface Tab {
  title: string;
  content: () => ComponentChildren;
}

/** Several views, one of which is shown. Follows the ARIA tabs pattern: arrow keys, Home and End switch between them. */
export function Tabs({ label, tabs }: { label: string; tabs: readonly Tab[] }): JSX.Element {
  const [chosen, setChosen] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const shown = Math.min(chosen, tabs.length - 1);
  const go = (index: number): void => {
    const next = (index + tabs.length) % tabs.length;
    setChosen(next);
    list.current?.querySelectorAll<HTMLElement>('[role="tab"]')[next]?.focus();
  };
  const steps: Readonly<Record<string, number>> = { ArrowRight: shown + 1, ArrowLeft: shown - 1, Home: 0, End: -1 };
  return (
    <div class="tabs">
      <div ref={list} role="tablist" aria-label={label}>
        {tabs.map(({ title }, index) => (
          <button
            key={title}
            type="button"
            role="tab"
            id={`${id}-tab-${index}`}
            aria-selected={index === shown}
            aria-controls={`${id}-panel`}
            tabIndex={index === shown ? 0 : -1}
            onKeyDown={(event) => {
              const next = steps[event.key];
              if (next === undefined) return;
              event.preventDefault();
              go(next);
            }}
            onClick={() => setChosen(index)}
          >
            {title}
          </button>
        ))}
      </div>
      <div id={`${id}-panel`} role="tabpanel" aria-labelledby={`${id}-tab-${shown}`} tabIndex={0}>
        {tabs[shown]?.content()}
      </div>
    </div>
  );
}
