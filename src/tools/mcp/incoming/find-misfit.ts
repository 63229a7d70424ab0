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
  const issues = check(schema, value);
  if (issues === undefined) return undefined;
  const [issue] = issues;
  if (issue === undefined) return uncheckable;
  const path = pathOf(issue).map(String).join('.');
  return `${path === '' ? '' : `${path}: `}${issue.message}`.slice(0, maxCharacters);
}

/** Where the value does not fit; undefined if it fits. Empty where it cannot be checked. */
export function misfitPaths(schema: ForeignSchema, value: unknown): PropertyKey[][] | undefined {
  return check(schema, value)?.map(pathOf);
}

type Issue = NonNullable<ForeignCheck['issues']>[number];

function check(schema: ForeignSchema, value: unknown): readonly Issue[] | undefined {
  let checked: ForeignCheck | Promise<ForeignCheck>;
  try {
    checked = schema['~standard'].validate(value);
  } catch {
    return [];
  }
  if (checked instanceof Promise) {
    checked.catch(() => undefined);
    return [];
  }
  return checked.issues;
}

function pathOf({ path = [] }: Issue): PropertyKey[] {
  return path.map((step) => (typeof step === 'object' ? step.key : step));
}
