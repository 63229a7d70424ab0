import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { CopyButton } from './copy-button.tsx';
import { VisibleText } from './text/visible-text.tsx';

/** Entries of a list or an object that are shown at once. */
const pageSize = 50;
/** Characters of a text that are shown at once. */
const textSize = 2_000;

interface JsonViewProps {
  value: unknown;
  /** The number of levels that are initially open. */
  openTo?: number;
  label?: string;
}

/** A value as a tree. Folded branches are not in the document, and long lists and texts are cut until more is requested. */
export function JsonView({ value, openTo = 2, label = 'Value' }: JsonViewProps): JSX.Element {
  return (
    <div class="json" role="group" aria-label={label}>
      <div class="json-copy">
        <CopyButton text={() => (typeof value === 'string' ? value : JSON.stringify(value, null, 2))} label="Copy as JSON" />
      </div>
      {openTo > 0 && isObject(value) ? <Entries value={value} open={openTo - 1} /> : <Node value={value} open={openTo} />}
    </div>
  );
}

/** The braces around the whole value would say nothing. */
function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;
}

function Node({ name, value, open }: { name?: string; value: unknown; open: number }): JSX.Element {
  if (typeof value === 'object' && value !== null) return <Branch {...(name !== undefined && { name })} value={value} open={open} />;
  return (
    <div class="json-line">
      {name !== undefined && (
        <span class="json-name">
          <VisibleText text={name} />
        </span>
      )}
      <Leaf value={value} />
    </div>
  );
}

function Branch({ name, value, open }: { name?: string; value: object; open: number }): JSX.Element {
  const [isOpen, setOpen] = useState(open > 0);
  const isList = Array.isArray(value);
  const keys = Object.keys(value);
  if (keys.length === 0)
    return (
      <div class="json-line">
        {name !== undefined && (
          <span class="json-name">
            <VisibleText text={name} />
          </span>
        )}
        <span class="json-null">{isList ? '[ ]' : '{ }'}</span>
      </div>
    );
  return (
    <details
      class="json-branch"
      open={isOpen}
      onToggle={(event) => event.target === event.currentTarget && setOpen(event.currentTarget.open)}
    >
      <summary>
        {name !== undefined && (
          <span class="json-name">
            <VisibleText text={name} />
          </span>
        )}
        <span class="json-size">
          <VisibleText
            text={
              isList
                ? `[${keys.length}]`
                : isOpen
                  ? `{${keys.length}}`
                  : `{ ${keys.slice(0, 4).join(', ')}${keys.length > 4 ? ', …' : ''} }`
            }
          />
        </span>
      </summary>
      {isOpen && (
        <div class="json-entries">
          <Entries value={value} open={open - 1} />
        </div>
      )}
    </details>
  );
}

function Entries({ value, open }: { value: object; open: number }): JSX.Element {
  const [shown, setShown] = useState(pageSize);
  const keys = Object.keys(value);
  return (
    <>
      {keys.slice(0, shown).map((entry) => (
        <Node key={entry} name={entry} value={(value as Record<string, unknown>)[entry]} open={open} />
      ))}
      {keys.length > shown && (
        <button type="button" class="more" onClick={() => setShown(shown + pageSize * 4)}>
          {keys.length - shown} more
        </button>
      )}
    </>
  );
}

function Leaf({ value }: { value: unknown }): JSX.Element {
  const [shown, setShown] = useState(textSize);
  if (typeof value !== 'string') return <span class={value === null ? 'json-null' : 'json-value'}>{String(value)}</span>;
  return (
    <span class="json-text">
      <VisibleText text={value.slice(0, shown)} />
      {value.length > shown && (
        <button type="button" class="more" onClick={() => setShown(shown * 8)}>
          {value.length - shown} more characters
        </button>
      )}
    </span>
  );
}
