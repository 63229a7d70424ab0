/** What modules of operators import from the gateway itself, wherever they are: with copies of their own, their schemas and errors would be strangers. */
const ownModules = new Map([
  ['toolwharf', new URL('../../../package-entry.ts', import.meta.url).href],
  ['zod', import.meta.resolve('zod')],
  ['zod/compile', import.meta.resolve('zod/compile')],
  ['zod/locales', import.meta.resolve('zod/locales')],
  ['zod/mini', import.meta.resolve('zod/mini')],
  ['zod/v3', import.meta.resolve('zod/v3')],
  ['zod/v4', import.meta.resolve('zod/v4')],
  ['zod/v4-mini', import.meta.resolve('zod/v4-mini')],
  ['zod/v4/core', import.meta.resolve('zod/v4/core')],
  ['zod/v4/locales', import.meta.resolve('zod/v4/locales')],
  ['zod/v4/mini', import.meta.resolve('zod/v4/mini')],
]);

/** The URL of the gateway's own copy; undefined for all that an operator brings along. */
export function ownModule(specifier: string): string | undefined {
  return ownModules.get(specifier);
}
