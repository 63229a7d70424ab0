import type { GrantBounds, GrantRecordKind } from '../../core/stores/grant-store.ts';

/** Programs that have registered. Clients with a metadata document are not stored. */
export const registeredClients = 1_000;
/** Consents of one caller, each a program on a device. Beyond it the oldest ends. */
const grantsPerCaller = 100;

/** Consents of everybody. Beyond it the caller with the most loses the oldest. */
export const grants = 10_000;

/** The limits of tokens hold within a grant, and so with those of grants for all. */
export const grantBounds: Readonly<Record<GrantRecordKind, Omit<GrantBounds, 'time'>>> = {
  client: { max: registeredClients, maxOfOwner: registeredClients },
  request: { max: 10_000, maxOfOwner: 10_000 },
  grant: { max: grants, maxOfOwner: grantsPerCaller },
  authorization: { maxOfOwner: 1 },
  code: { maxOfOwner: 4 },
  access: { maxOfOwner: 16 },
  refresh: { maxOfOwner: 64 },
};
