import type { ServerResponse } from 'node:http';
import type { Caller } from '../../core/callers/caller.ts';
import { isWithin } from '../../core/callers/people.ts';
import type { Credentials } from '../auth/authenticate.ts';

/** How often the grants of open answers are looked up: another process may have ended one. */
const checkEveryMs = 10_000;

/** The answers that programs are getting at `/mcp`, streams above all. They are cut when the grant of their token ends. */
export interface OpenAnswers {
  /** Of a caller with a token of the gateway's own; others are not followed. */
  add: (caller: Caller, request: Credentials, response: ServerResponse) => void;
  endGrant: (grantId: string) => void;
  /** Those of a client, or of what one caller has granted to it. */
  endClient: (clientId: string, ownerId?: string) => void;
  /** Of a key also those of its people. */
  endAllOf: (ownerId: string) => void;
  close: () => void;
}

interface OpenAnswersOptions {
  isAlive: (open: { caller: Caller; request: Credentials }) => Promise<boolean>;
}

export function createOpenAnswers({ isAlive }: OpenAnswersOptions): OpenAnswers {
  const open = new Map<ServerResponse, { caller: Caller; request: Credentials }>();
  let timer: NodeJS.Timeout | undefined;

  function endWhere(matches: (caller: Caller) => boolean): void {
    for (const [response, { caller }] of open) if (matches(caller)) response.destroy();
  }

  /** While the store cannot be read, nothing ends. */
  async function check(): Promise<void> {
    for (const [response, entry] of Array.from(open)) if (!(await isAlive(entry).catch(() => true))) response.destroy();
  }

  return {
    add(caller, request, response) {
      if (caller.client === undefined) return;
      open.set(response, { caller, request });
      response.once('close', () => {
        open.delete(response);
        if (open.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      });
      timer ??= setInterval(() => void check(), checkEveryMs).unref();
      if (response.destroyed) response.emit('close');
    },
    endGrant: (grantId) => endWhere(({ client }) => client?.grantId === grantId),
    endClient: (clientId, ownerId) =>
      endWhere(({ id, client }) => client?.id === clientId && (ownerId === undefined || isWithin(id, ownerId))),
    endAllOf: (ownerId) => endWhere(({ id }) => isWithin(id, ownerId)),
    close: () => clearInterval(timer),
  };
}
