/** The part of the product that a planned behaviour belongs to. */
export type Part = 'openapi' | 'loop' | 'functions' | 'administration' | 'console' | 'replicas' | 'operations';

/**
 * One behaviour that the gateway owes to its users.
 * `verified` names the tests that prove it, each as `<file> > <describe> > … > <test>`; a run in which one of them is absent or not passed fails.
 */
export type Requirement = { id: string; behaviour: string } & (
  | { status: 'verified'; tests: string[] }
  | { status: 'planned'; part: Part }
  | { status: 'not_applicable'; reason: string }
);
