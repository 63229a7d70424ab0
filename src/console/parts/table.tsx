import type { ComponentChild, JSX } from 'preact';

export interface Column<Row> {
  title: string;
  cell: (row: Row) => ComponentChild;
  /** Numbers stand on the right. */
  isNumber?: boolean;
  /** Left out where the page is narrow. */
  isMinor?: boolean;
  /** In a line below the row where the page is narrow, unless it is empty. */
  isBelow?: boolean;
  /** What can be done with the row: at its end. */
  isActions?: boolean;
}

interface TableProps<Row> {
  /** What the table holds, for screen readers. */
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string | number;
  /** Marks rows, such as `failed`. */
  classOf?: (row: Row) => string | undefined;
}

/** Up to some hundred rows; more belong in a `VirtualList`. The first column names the row. */
export function Table<Row>({ label, columns, rows, keyOf, classOf }: TableProps<Row>): JSX.Element {
  const classesOf = ({ isNumber, isMinor, isBelow, isActions }: Column<Row>): string | undefined =>
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
