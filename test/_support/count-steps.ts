interface Counted {
  steps: number;
}

type Work = (text: string, given: unknown[], result: unknown) => number;

/** How many characters each way of looking at a text goes through. A slice only points into the text that it comes from. */
const stringWork: Readonly<Record<string, Work>> = {
  charCodeAt: () => 1,
  charAt: () => 1,
  slice: () => 1,
  startsWith: (_text, [mark]) => String(mark).length,
  endsWith: (_text, [mark]) => String(mark).length,
  indexOf: (text, [, from], found) => (found === -1 ? text.length : Number(found) + 1) - Number(from ?? 0),
  lastIndexOf: (text, _given, found) => text.length - Number(found),
  includes: (text) => text.length,
  trim: (text) => text.length,
  trimStart: (text) => text.length,
  trimEnd: (text) => text.length,
  toLowerCase: (text) => text.length,
  split: (text) => text.length,
  replace: (text) => text.length,
  replaceAll: (text) => text.length,
};

/**
 * What `work` does, in characters looked at: by the methods of texts, by patterns, and by `JSON.parse`. A count does not depend on the machine, so that
 * a path that goes through a text again and again is found without a clock.
 */
export function countSteps(work: () => void): number {
  const counted: Counted = { steps: 0 };
  const undo = [
    ...Object.entries(stringWork).map(([name, workOf]) =>
      replaceMethod(String.prototype, name, (self, given, result) => void (counted.steps += workOf(String(self), given, result))),
    ),
    ...['exec', 'test'].map((name) => replacePattern(name, counted)),
    replaceMethod(JSON, 'parse', (_self, [text]) => void (counted.steps += String(text).length)),
  ];
  try {
    work();
  } finally {
    for (const restore of undo) restore();
  }
  return counted.steps;
}

type Method = (this: unknown, ...given: unknown[]) => unknown;

function replaceMethod(owner: object, name: string, note: (self: unknown, given: unknown[], result: unknown) => void): () => void {
  const original = Reflect.get(owner, name) as Method;
  Reflect.set(owner, name, function counting(this: unknown, ...given: unknown[]) {
    const result = Reflect.apply(original, this, given);
    note(this, given, result);
    return result;
  });
  return () => void Reflect.set(owner, name, original);
}

/** A pattern with `g` goes from its last place to its next one, any other through the whole text. */
function replacePattern(name: string, counted: Counted): () => void {
  const original = Reflect.get(RegExp.prototype, name) as Method;
  Reflect.set(RegExp.prototype, name, function counting(this: RegExp, text: string) {
    const from = this.lastIndex;
    const result = Reflect.apply(original, this, [text]);
    const end = this.global && this.lastIndex > 0 ? this.lastIndex : text.length;
    counted.steps += this.sticky ? 1 : Math.max(1, end - (this.global ? from : 0));
    return result;
  });
  return () => void Reflect.set(RegExp.prototype, name, original);
}
