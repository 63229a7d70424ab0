/** The part of a Standard Schema (https://standardschema.dev) that checks a value, as schemas of the SDK implement it. */
interface ForeignSchema {
  '~standard': { validate(value: unknown): ForeignCheck | Promise<ForeignCheck> };
}

interface ForeignCheck {
  issues?: readonly { message: string; path?: readonly (PropertyKey | { key: PropertyKey })[] | undefined }[] | undefined;
}

const uncheckable = 'it cannot be checked';
const maxCharacters = 300;

/**
 * Why a value that a server sent does not fit a schema of the SDK; undefined if it fits. The only place that runs such a schema: zod throws where its
 * recursion leaves no stack, or answers with a promise that fails later. Both mean that the value does not fit, and nobody may drop that promise.
 */
export function findMisfit(schema: ForeignSchema, value: unknown): string | undefined {
  let checked: ForeignCheck | Promise<ForeignCheck>;
  try {
    checked = schema['~standard'].validate(value);
  } catch {
    return uncheckable;
  }
  if (checked instanceof Promise) {
    checked.catch(() => undefined);
    return uncheckable;
  }
  if (checked.issues === undefined) return undefined;
  const [issue] = checked.issues;
  const path = (issue?.path ?? []).map((step) => String(typeof step === 'object' ? step.key : step)).join('.');
  return `${path === '' ? '' : `${path}: `}${issue?.message ?? 'it has another form'}`.slice(0, maxCharacters);
}
