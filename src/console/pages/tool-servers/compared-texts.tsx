import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { compareLines } from '../../parts/text/compare-lines.ts';
import type { Piece, ComparedLine } from '../../parts/text/compare-lines.ts';
import { formatCount } from '../../parts/text/formats.ts';
import { VisibleText } from '../../parts/text/visible-text.tsx';

/** Unchanged lines that are shown around a change. */
const around = 2;

type ShownLine = ComparedLine | { kind: 'folded'; rows: ComparedLine[] };

interface ComparedProps {
  label: string;
  before: string;
  after: string;
  titles: readonly [before: string, after: string];
}

/** Two texts side by side, or one above the other on narrow screens. Changes are marked, and nothing is hidden. */
export function ComparedTexts({ label, before, after, titles }: ComparedProps): JSX.Element {
  return (
    <div class="compared" tabIndex={0} role="group" aria-label={label}>
      <table>
        <caption class="compared-legend">{`\u2212 ${titles[0]}, + ${titles[1]}`}</caption>
        <thead>
          <tr>
            {titles.map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {fold(compareLines(before, after)).map((row, index) =>
            row.kind === 'folded' ? <Folded key={index} rows={row.rows} /> : <Line key={index} row={row} />,
          )}
        </tbody>
      </table>
    </div>
  );
}

function Line({ row }: { row: ComparedLine }): JSX.Element {
  if (row.kind === 'same')
    return (
      <tr>
        <td>
          <VisibleText text={row.text} />
        </td>
        <td class="compared-again">
          <VisibleText text={row.text} />
        </td>
      </tr>
    );
  return (
    <tr>
      {row.before === undefined ? <td class="compared-none">&nbsp;</td> : <Side kind="del" pieces={row.before} />}
      {row.after === undefined ? <td class="compared-none">&nbsp;</td> : <Side kind="ins" pieces={row.after} />}
    </tr>
  );
}

function Side({ kind: Kind, pieces }: { kind: 'del' | 'ins'; pieces: readonly Piece[] }): JSX.Element {
  return (
    <td class={`compared-${Kind}${pieces.length === 1 ? ' compared-whole' : ''}`}>
      {pieces.map(({ text, isChanged }, index) =>
        isChanged ? (
          <Kind key={index}>
            <VisibleText text={text} />
          </Kind>
        ) : (
          <VisibleText key={index} text={text} />
        ),
      )}
    </td>
  );
}

function Folded({ rows }: { rows: readonly ComparedLine[] }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  if (isOpen)
    return (
      <>
        {rows.map((row, index) => (
          <Line key={index} row={row} />
        ))}
      </>
    );
  return (
    <tr>
      <td colSpan={2} class="compared-fold">
        <button type="button" class="more" onClick={() => setOpen(true)}>
          {formatCount(rows.length, 'unchanged line')}
        </button>
      </td>
    </tr>
  );
}

function fold(rows: readonly ComparedLine[]): ShownLine[] {
  const isNear = (index: number): boolean =>
    rows.slice(Math.max(0, index - around), index + around + 1).some(({ kind }) => kind === 'changed');
  const shown: ShownLine[] = [];
  for (const [index, row] of rows.entries()) {
    const last = shown.at(-1);
    if (isNear(index)) shown.push(row);
    else if (last?.kind === 'folded') last.rows.push(row);
    else shown.push({ kind: 'folded', rows: [row] });
  }
  // A single line takes no more space than the text that would replace it.
  return shown.flatMap((row): ShownLine[] => (row.kind === 'folded' && row.rows.length === 1 ? row.rows : [row]));
}
