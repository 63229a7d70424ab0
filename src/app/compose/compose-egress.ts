import { LRUCache } from 'lru-cache';
import type { SendOutbound } from '../../core/outbound.ts';
import type { PrometheusMetrics } from '../../observability/prometheus-metrics.ts';
import { createOutbound } from '../../policy/outbound/outbound-request.ts';
import { createSessionTokens, withSessionTokens } from '../../policy/session-tokens.ts';
import type { AppContext } from '../app-context.ts';
import { localUrl } from '../config/local-url.ts';

interface Egress {
  send: SendOutbound;
  /** The public keys of session tokens. */
  keySet: () => Promise<object>;
  close(): Promise<void>;
}

interface EgressParts {
  send: SendOutbound | undefined;
  boundPort: () => number | undefined;
  metrics: Pick<PrometheusMetrics, 'countConnectionWait'>;
}

/** The only way out to the network, with session tokens for tool servers that use them. `boundPort` is undefined until the gateway listens. */
export function composeEgress(context: AppContext, { send, boundPort, metrics }: EgressParts): Egress {
  const { config, now, newId } = context;
  const { maxConnectionsPerOrigin } = config;
  const tellOfLimit = createLimitReport(context);
  const outbound = createOutbound({
    egress: config.egress,
    maxConnectionsPerOrigin,
    onConnectionLimit(origin) {
      metrics.countConnectionWait();
      tellOfLimit(origin);
    },
  });
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

/** A limit that stays reached is reported again after this time. */
const limitReportMs = 10 * 60_000;
/** Origins that are remembered as reported: requests may name any. */
const reportedOrigins = 100;

/** Logs once that all connections to an origin are in use, and not with each request that waits. */
function createLimitReport({ config, logger, elapsed }: AppContext): (origin: string) => void {
  const reported = new LRUCache<string, number>({ max: reportedOrigins });
  return (origin) => {
    const time = elapsed();
    if (time - (reported.get(origin) ?? -Infinity) < limitReportMs) return;
    reported.set(origin, time);
    logger.warn(
      { origin, connections: config.maxConnectionsPerOrigin },
      'all connections to a server are in use, and further requests wait for one: raise UPSTREAM_MAX_CONNECTIONS, and the limit of open files if needed',
    );
  };
}
