/** What this console stores in `localStorage`. Every name begins with the same prefix, as other pages of this origin may store things too. */
const prefix = 'toolwharf.';

export function readItem(name: string): string | undefined {
  return localStorage.getItem(prefix + name) ?? undefined;
}

/** Undefined removes the item. */
export function writeItem(name: string, value: string | undefined): void {
  if (value === undefined) localStorage.removeItem(prefix + name);
  else localStorage.setItem(prefix + name, value);
}

/** Empty if the item is missing or damaged. */
export function readList<Value>(name: string): Value[] {
  try {
    const list: unknown = JSON.parse(readItem(name) ?? '[]');
    return Array.isArray(list) ? (list as Value[]) : [];
  } catch {
    return [];
  }
}

/** The rest of each item name that begins with `start`. */
export function itemsBelow(start: string): string[] {
  return Object.keys(localStorage).flatMap((name) => (name.startsWith(prefix + start) ? [name.slice(prefix.length + start.length)] : []));
}

/** Calls the listener when another tab has changed or removed the item. */
export function onItemChanged(name: string, listener: (value: string | undefined) => void): void {
  addEventListener('storage', ({ key, newValue }) => {
    if (key === prefix + name) listener(newValue ?? undefined);
  });
}
