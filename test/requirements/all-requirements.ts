import type { Requirement } from './requirement.ts';
import { turnRequirements } from './s0.ts';
import { streamingRequirements } from './s1.ts';
import { functionRequirements } from './s2.ts';
import { toolsetRequirements } from './s3.ts';
import { toolServerRequirements } from './s4.ts';

/** The whole manifest: what the gateway owes, and which tests prove it. */
export const allRequirements: Requirement[] = [
  ...turnRequirements,
  ...streamingRequirements,
  ...functionRequirements,
  ...toolsetRequirements,
  ...toolServerRequirements,
];
