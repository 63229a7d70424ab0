import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../../parts/button.tsx';

interface ScrollProps {
  children: ComponentChildren;
  /** The answer that runs. A new one is shown, wherever the person was. */
  running: string | undefined;
}

/** Close enough to the end to stay there, in pixels. */
const nearEnd = 80;

/** Stays at the end while more comes and while the window changes, unless the person has scrolled away from it. */
export function Scroll({ children, running }: ScrollProps): JSX.Element {
  const frame = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const stays = useRef(true);
  /** Something was folded or unfolded, which is to stay where it is. */
  const isFolding = useRef(false);
  const [isAtEnd, setAtEnd] = useState(true);

  const top = useRef(0);

  function look({ mayStay }: { mayStay: boolean }): void {
    const { scrollHeight = 0, scrollTop = 0, clientHeight = 0 } = frame.current ?? {};
    const isNear = scrollHeight - scrollTop - clientHeight < nearEnd;
    stays.current = isNear || (mayStay && stays.current);
    top.current = scrollTop;
    setAtEnd(stays.current);
  }
  /** More may have come since it was moved to the end: only who goes up leaves it. */
  function follow({ currentTarget: { scrollTop } }: { currentTarget: HTMLElement }): void {
    look({ mayStay: scrollTop >= top.current });
  }
  function toEnd(): void {
    frame.current?.scrollTo({ top: frame.current.scrollHeight });
  }

  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => {
      if (stays.current && !isFolding.current) toEnd();
      else look({ mayStay: false });
      isFolding.current = false;
    });
    for (const { current } of [frame, content]) if (current !== null) observer.observe(current);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (running === undefined) return;
    stays.current = true;
    toEnd();
  }, [running]);

  return (
    <div class="chat-view">
      <div
        ref={frame}
        class="chat-scroll"
        tabIndex={-1}
        onScroll={follow}
        onClickCapture={({ target }) => {
          if (target instanceof Element && target.closest('summary') !== null) isFolding.current = true;
        }}
      >
        <div ref={content} class="chat-content">
          {children}
        </div>
      </div>
      {!isAtEnd && (
        <Button class="chat-to-end" isSmall icon="down" onClick={toEnd}>
          To the end
        </Button>
      )}
    </div>
  );
}
