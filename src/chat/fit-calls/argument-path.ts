/** Names and indexes from the arguments of a call down to one value. */
export type ArgumentPath = readonly (string | number)[];

/** The path as people and models read it: `filters[0].name`. */
export function pathText(path: ArgumentPath, shorten: (name: string) => string = (name) => name): string {
  return path.map((step, index) => (typeof step === 'number' ? `[${step}]` : `${index === 0 ? '' : '.'}${shorten(step)}`)).join('');
}
