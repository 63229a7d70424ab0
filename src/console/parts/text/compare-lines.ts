/** A piece of a line. `isChanged`: the other side has something else in its place. */
export interface Piece {
  text: string;
  isChanged: boolean;
}

/** A line of both sides, or of only one. */
export type ComparedLine = { kind: 'same'; text: string } | { kind: 'changed'; before?: Piece[]; after?: Piece[] };

/** Beyond this many pairs, everything between the common beginning and end counts as changed, because each pair takes time and memory. */
const maxPairs = { lines: 1_000_000, words: 40_000 } as const;

/** Compares two texts line by line, and changed lines word by word. */
export function compareLines(before: string, after: string): ComparedLine[] {
  const rows: ComparedLine[] = [];
  for (const { same, removed, added } of compare(before.split('\n'), after.split('\n'), maxPairs.lines)) {
    for (let index = 0; index < Math.max(removed.length, added.length); index++) rows.push(changedRow(removed[index], added[index]));
    rows.push(...same.map((text): ComparedLine => ({ kind: 'same', text })));
  }
  return rows;
}

function changedRow(before: string | undefined, after: string | undefined): ComparedLine {
  if (before === undefined || after === undefined)
    return {
      kind: 'changed',
      ...(before !== undefined && { before: [{ text: before, isChanged: true }] }),
      ...(after !== undefined && { after: [{ text: after, isChanged: true }] }),
    };
  const row = { before: [] as Piece[], after: [] as Piece[] };
  const add = (pieces: Piece[], words: readonly string[], isChanged: boolean): void => {
    if (words.length > 0) pieces.push({ text: words.join(''), isChanged });
  };
  for (const { removed, added, same } of compare(wordsOf(before), wordsOf(after), maxPairs.words)) {
    add(row.before, removed, true);
    add(row.after, added, true);
    add(row.before, same, false);
    add(row.after, same, false);
  }
  return { kind: 'changed', ...row };
}

function wordsOf(line: string): string[] {
  return line.match(/[\p{L}\p{N}_]+|\s+|[^]/gu) ?? [];
}

/** Items of the first list, the items of the second list that replace them, and then items of both. */
interface Step {
  removed: string[];
  added: string[];
  same: string[];
}

/** Compares by the longest common subsequence. */
function compare(before: readonly string[], after: readonly string[], most: number): Step[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  while (end < before.length - start && end < after.length - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  const left = before.slice(start, before.length - end);
  const right = after.slice(start, after.length - end);
  const steps: Step[] = [{ removed: [], added: [], same: before.slice(0, start) }];
  for (const entry of left.length * right.length > most ? [{ left, right }] : alignment(left, right)) {
    if ('both' in entry) {
      const last = steps.at(-1) as Step;
      last.same.push(entry.both);
    } else steps.push({ removed: entry.left, added: entry.right, same: [] });
  }
  (steps.at(-1) as Step).same.push(...before.slice(before.length - end));
  return steps;
}

type AlignedItem = { both: string } | { left: string[]; right: string[] };

function alignment(left: readonly string[], right: readonly string[]): AlignedItem[] {
  const width = right.length + 1;
  /** The length of the longest common subsequence from each pair on. */
  const lengths = new Uint32Array((left.length + 1) * width);
  const at = (row: number, column: number): number => lengths[row * width + column] ?? 0;
  for (let row = left.length - 1; row >= 0; row--)
    for (let column = right.length - 1; column >= 0; column--)
      lengths[row * width + column] =
        left[row] === right[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
  const entries: AlignedItem[] = [];
  let open: { left: string[]; right: string[] } | undefined;
  const change = (): { left: string[]; right: string[] } => {
    if (open === undefined) entries.push((open = { left: [], right: [] }));
    return open;
  };
  let row = 0;
  let column = 0;
  while (row < left.length || column < right.length) {
    if (row < left.length && column < right.length && left[row] === right[column]) {
      entries.push({ both: left[row] as string });
      open = undefined;
      row++;
      column++;
    } else if (column >= right.length || (row < left.length && at(row + 1, column) >= at(row, column + 1)))
      change().left.push(left[row++] as string);
    else change().right.push(right[column++] as string);
  }
  return entries;
}
