import type { SendOutbound } from '../../core/outbound.ts';
import { createOutbound } from '../../policy/outbound/outbound-request.ts';
import { createSessionTokens, withSessionTokens } from '../../policy/session-tokens.ts';
import type { AppContext } from '../app-context.ts';
import { localUrl } from '../config/local-url.ts';

export interface Egress {
  send: SendOutbound;
  /** The public keys of session tokens. */
  keySet: () => Promise<object>;
  close(): Promise<void>;
}

/** The only way out to the network, with session tokens for tool servers that use them. `boundPort` is undefined until the gateway listens. */
export function composeEgress(
  { config, now, newId }: AppContext,
  { send, boundPort }: { send: SendOutbound | undefined; boundPort: () => number | undefined },
): Egress {
  const outbound = createOutbound({ egress: config.egress });
  const sessionTokens = createSessionTokens({
    secret: config.secret ?? newId(),
    issuer: () => config.publicUrl ?? localUrl({ host: config.host, port: boundPort() ?? config.port }),
    now,
  });
  return {
    send: withSessionTokens(send ?? outbound.send, sessionTokens),
    keySet: () => sessionTokens.keySet(),
    close: () => outbound.close(),
  };
}
