import type { ComponentChild, JSX } from 'preact';

export interface Column<Item> {
  title: string;
  cell: (row: Item) => ComponentChild;
  /** Aligned to the right. */
  isNumber?: boolean;
  /** Hidden on narrow screens. */
  isMinor?: boolean;
  /** Shown below the row on narrow screens, unless it is empty. */
  isBelow?: boolean;
  /** The actions for the row, at its end. */
  isActions?: boolean;
}

export interface TableProps<Item> {
  /** The name of the table for screen readers. */
  label: string;
  columns: readonly Column<Item>[];
  rows: readonly Item[];
  keyOf: (row: Item) => string | number;
  /** A class for the row, such as `failed`. */
  classOf?: (row: Item) => string | undefined;
}

/** For up to some hundred rows. Longer lists need a `VirtualList`. The first column names the row. */
export function Table<Item>({ label, columns, rows, keyOf, classOf }: TableProps<Item>): JSX.Element {
  const classesOf = ({ isNumber, isMinor, isBelow, isActions }: Column<Item>): string | undefined =>
    [isNumber && 'number', isMinor && 'minor', isBelow && 'below', isActions && 'actions'].filter(Boolean).join(' ') || undefined;
  const besideFirst = columns.filter(({ isBelow }) => isBelow !== true).length - 1;
  return (
    <div class="table-frame" tabIndex={0} role="group" aria-label={label}>
      <table class={besideFirst === columns.length - 1 ? undefined : `with-below beside-${besideFirst}`}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={classesOf(column)}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)} class={classOf?.(row)}>
              {columns.map((column, index) =>
                index === 0 ? (
                  <th key={column.title} scope="row" class={classesOf(column)}>
                    {column.cell(row)}
                  </th>
                ) : (
                  <td key={column.title} class={classesOf(column)} data-title={column.isBelow === true ? column.title : undefined}>
                    {column.cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
