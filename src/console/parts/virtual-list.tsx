import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from '@tanstack/virtual-core';
import type { ComponentChild, JSX } from 'preact';
import { useLayoutEffect, useReducer, useRef } from 'preact/hooks';

interface VirtualListProps<Item> {
  items: readonly Item[];
  render: (item: Item, index: number) => ComponentChild;
  /** The height of an item in pixels. Each item is measured once it is rendered. */
  estimate: number;
  keyOf: (item: Item, index: number) => string | number;
  label: string;
  class?: string;
}

/** A scrolling list of any length. Only visible items are in the document. Its class must set a height. */
export function VirtualList<Item>({ items, render, estimate, keyOf, label, class: extra }: VirtualListProps<Item>): JSX.Element {
  const frame = useRef<HTMLDivElement>(null);
  const [, redraw] = useReducer((turn: number) => turn + 1, 0);
  const list = useRef<Virtualizer<HTMLDivElement, HTMLDivElement>>();
  const options = {
    count: items.length,
    getScrollElement: () => frame.current,
    estimateSize: () => estimate,
    getItemKey: (index: number) => keyOf(items[index] as Item, index),
    overscan: 8,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => redraw(undefined),
  };
  list.current ??= new Virtualizer(options);
  const virtual = list.current;
  virtual.setOptions(options);
  useLayoutEffect(() => virtual._didMount(), []);
  useLayoutEffect(() => virtual._willUpdate());
  return (
    <div ref={frame} class={`virtual-list ${extra ?? ''}`} role="list" aria-label={label} tabIndex={0}>
      <div style={{ height: `${virtual.getTotalSize()}px` }}>
        {virtual.getVirtualItems().map(({ key, index, start }) => (
          <div
            key={key}
            ref={(element) => virtual.measureElement(element)}
            data-index={index}
            role="listitem"
            aria-setsize={items.length}
            aria-posinset={index + 1}
            style={{ transform: `translateY(${start}px)` }}
          >
            {render(items[index] as Item, index)}
          </div>
        ))}
      </div>
    </div>
  );
}
