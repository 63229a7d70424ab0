import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { formatCount, formatNumber } from '../../parts/text/formats.ts';
import { VirtualList } from '../../parts/virtual-list.tsx';
import { VisibleText } from '../../parts/text/visible-text.tsx';

interface ListedFunction {
  name: string;
  operation: string;
  description: string;
  tokens: number;
}

export interface Choosing {
  isChosen: (name: string) => boolean;
  onChoose: (names: readonly string[], isChosen: boolean) => void;
}

interface FunctionListProps<Fn extends ListedFunction> {
  functions: readonly Fn[];
  /** By new name: the original name of each renamed function, and why. */
  renamed: ReadonlyMap<string, { from: string; reason: string }>;
  /** Shows a checkbox beside each function. */
  choosing?: Choosing | undefined;
  /** Shown at the end of each function's line. */
  actions?: ((fn: Fn) => ComponentChildren) | undefined;
}

/** From this many on, functions can be searched. */
const manyFunctions = 12;
/** From this many on, only visible rows are in the document. */
const virtualFrom = 100;
const rowHeight = 64;

export function FunctionList<Fn extends ListedFunction>({ functions, renamed, choosing, actions }: FunctionListProps<Fn>): JSX.Element {
  const [search, setSearch] = useState('');
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const found =
    words.length === 0
      ? functions
      : functions.filter(({ name, operation, description }) => {
          const text = `${name} ${operation} ${description}`.toLowerCase();
          return words.every((word) => text.includes(word));
        });
  const row = (fn: Fn): JSX.Element => <FunctionRow fn={fn} renamed={renamed.get(fn.name)} choosing={choosing} actions={actions} />;
  return (
    <div class="report-list">
      {(functions.length >= manyFunctions || choosing !== undefined) && (
        <div class="row report-find">
          {choosing !== undefined && found.length > 0 && <ChooseAll names={found.map(({ name }) => name)} choosing={choosing} />}
          {functions.length >= manyFunctions && (
            <input
              type="search"
              class="grow"
              aria-label="Search functions"
              placeholder="Search by name, path or description"
              value={search}
              onInput={(event) => setSearch(event.currentTarget.value)}
            />
          )}
          {words.length > 0 && (
            <span class="soft small" role="status">
              {formatCount(found.length, 'function')}
            </span>
          )}
        </div>
      )}
      {found.length === 0 ? (
        <p class="soft report-none">No matching functions.</p>
      ) : found.length >= virtualFrom ? (
        <VirtualList
          class="report-functions report-many"
          label="Functions"
          items={found}
          keyOf={({ name }) => name}
          estimate={rowHeight}
          render={row}
        />
      ) : (
        <ul class="report-functions" aria-label="Functions">
          {found.map((fn) => (
            <li key={fn.name}>{row(fn)}</li>
          ))}
        </ul>
      )}
    </div>
  );
}

function ChooseAll({ names, choosing }: { names: readonly string[]; choosing: Choosing }): JSX.Element {
  const count = names.filter(choosing.isChosen).length;
  return (
    <label class="row report-all">
      <input
        type="checkbox"
        checked={count === names.length}
        ref={(element) => {
          if (element !== null) element.indeterminate = count > 0 && count < names.length;
        }}
        onChange={(event) => choosing.onChoose(names, event.currentTarget.checked)}
      />
      All {formatNumber(names.length)}
    </label>
  );
}

function FunctionRow<Fn extends ListedFunction>({
  fn,
  renamed,
  choosing,
  actions,
}: Pick<FunctionListProps<Fn>, 'choosing' | 'actions'> & {
  fn: Fn;
  renamed: { from: string; reason: string } | undefined;
}): JSX.Element {
  const { name, operation, description, tokens } = fn;
  return (
    <div class="report-function">
      {choosing !== undefined && (
        <input
          type="checkbox"
          aria-label={`Include ${name}`}
          checked={choosing.isChosen(name)}
          onChange={(event) => choosing.onChoose([name], event.currentTarget.checked)}
        />
      )}
      <span class="report-words">
        <span class="report-name mono">
          <VisibleText text={name} isName />
        </span>
        <span class="soft small report-about">
          <VisibleText text={description} />
        </span>
        <span class="soft small mono report-operation">
          <VisibleText text={operation} />
          {renamed !== undefined && (
            <span class="chip" title={renamed.reason}>
              {`renamed from ${renamed.from}`}
            </span>
          )}
        </span>
      </span>
      <span class="soft small report-tokens">{`${formatNumber(tokens)} tokens`}</span>
      {actions?.(fn)}
    </div>
  );
}
