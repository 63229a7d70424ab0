import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../../parts/button.tsx';

interface ScrollProps {
  children: ComponentChildren;
  /** The id of the running answer. The view scrolls to a new one, wherever it was. */
  running: string | undefined;
  /** There is no chat yet, so what is shown is read from its beginning. */
  isEmpty: boolean;
}

/** This close to the end, the view stays at the end, in pixels. */
const nearEnd = 80;

/** Stays at the end while content is added or the window changes, unless the person has scrolled away. */
export function Scroll({ children, running, isEmpty }: ScrollProps): JSX.Element {
  const frame = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const stays = useRef(true);
  /** Something was folded or unfolded and has to stay in its position. */
  const isFolding = useRef(false);
  const [isAtEnd, setAtEnd] = useState(true);

  const top = useRef(0);
  const follows = useRef(!isEmpty);
  follows.current = !isEmpty;

  function look({ mayStay }: { mayStay: boolean }): void {
    const { scrollHeight = 0, scrollTop = 0, clientHeight = 0 } = frame.current ?? {};
    const isNear = scrollHeight - scrollTop - clientHeight < nearEnd;
    stays.current = isNear || (mayStay && stays.current);
    top.current = scrollTop;
    setAtEnd(stays.current);
  }
  /** Content may have been added since the view moved to the end, so only scrolling up leaves it. */
  function follow({ currentTarget: { scrollTop } }: { currentTarget: HTMLElement }): void {
    look({ mayStay: scrollTop >= top.current });
  }
  function toEnd(): void {
    frame.current?.scrollTo({ top: frame.current.scrollHeight });
  }

  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => {
      if (!follows.current) return;
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
      {!isAtEnd && !isEmpty && (
        <Button class="chat-to-end" isSmall icon="down" onClick={toEnd}>
          Scroll to end
        </Button>
      )}
    </div>
  );
}
