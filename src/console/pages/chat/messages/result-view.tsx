import type { JSX } from 'preact';
import { JsonView } from '../../../parts/json-view.tsx';
import { Picture } from '../../../parts/picture.tsx';
import { Table } from '../../../parts/table.tsx';
import { safeAddress } from '../../../parts/markdown/markdown.tsx';
import { splitUnseen } from '../../../parts/text/unseen-characters.ts';
import { VisibleText } from '../../../parts/text/visible-text.tsx';

/** A longer or wider list is shown as a tree. */
const maxRows = 100;
const maxColumns = 8;

/** The result of a function: a text as text, a list of similar objects as a table, anything else as a tree. */
export function ResultView({ value }: { value: unknown }): JSX.Element {
  const rows = rowsOf(value);
  if (rows !== undefined) return <ResultTable rows={rows} />;
  return <JsonView value={value} label="Result" />;
}

type ResultRow = Readonly<Record<string, unknown>>;

/** The list itself, or the only list of an object. */
function rowsOf(value: unknown): ResultRow[] | undefined {
  const list = Array.isArray(value) ? (value as unknown[]) : onlyList(value);
  if (list === undefined || list.length < 2 || list.length > maxRows || !list.every(isFlat)) return undefined;
  const names = new Set(list.flatMap(Object.keys));
  return names.size > 0 && names.size <= maxColumns ? list : undefined;
}

function onlyList(value: unknown): unknown[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const entries = Object.values(value);
  return entries.length === 1 && Array.isArray(entries[0]) ? (entries[0] as unknown[]) : undefined;
}

function isFlat(value: unknown): value is ResultRow {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.values(value).every((cell) => typeof cell !== 'object' || cell === null)
  );
}

function ResultTable({ rows }: { rows: readonly ResultRow[] }): JSX.Element {
  const names = [...new Set(rows.flatMap(Object.keys))];
  return (
    <Table<ResultRow>
      label="Result"
      rows={rows}
      keyOf={(row) => rows.indexOf(row)}
      columns={names.map((name) => ({
        title: splitUnseen(name)
          .map((part) => (typeof part === 'string' ? part : part.code))
          .join(''),
        isNumber: rows.every((row) => typeof row[name] === 'number'),
        cell: (row) => <VisibleText text={cellOf(row[name])} />,
      }))}
    />
  );
}

const image = /^data:image\/(?:png|jpeg|gif|webp|avif);base64,/i;

export function Files({ files }: { files: readonly { type: string; url?: string | undefined; name?: string | undefined }[] }): JSX.Element {
  return (
    <div class="chat-files">
      {files.map(({ url, name, type }, index) =>
        url === undefined ? (
          <span key={index} class="chip">
            {name ?? type}
          </span>
        ) : image.test(url) ? (
          <Picture key={index} src={url} alt={name ?? 'Image in the result'} />
        ) : (
          <a key={index} class="chip" href={url.startsWith('data:') ? url : safeAddress(url)} download={name ?? 'file'}>
            {name ?? type}
          </a>
        ),
      )}
    </div>
  );
}

function cellOf(value: unknown): string {
  return typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value);
}
