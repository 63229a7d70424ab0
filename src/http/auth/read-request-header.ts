import type { IncomingHttpHeaders } from 'node:http';
import type { Caller } from '../../core/callers/caller.ts';
import { whyNotForwarded, type ReadRequestHeader } from '../../core/chat/request-headers.ts';

/** The headers of a request as far as tool servers may have them: nothing that let the caller in, or that names the person behind the caller's key. */
export function readRequestHeader({ headers, caller }: { headers: IncomingHttpHeaders; caller: Caller }): ReadRequestHeader {
  return (name) => {
    if (whyNotForwarded(name) !== undefined || caller.personHeaders?.includes(name) === true) return undefined;
    const value = headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  };
}
