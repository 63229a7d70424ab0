import type { SendOutbound } from '../../core/outbound.ts';
import type { Tracing } from '../../core/runs/trace.ts';
import type { AppContext } from '../app-context.ts';
import { version } from '../version.ts';

/** OpenTelemetry is only loaded if a collector is configured: it takes some 50 MB of memory. */
export async function composeTracing({ config, logger, elapsed }: AppContext, send: SendOutbound): Promise<Tracing | undefined> {
  const settings = config.tracing;
  if (settings === undefined) return undefined;
  const { createTracing } = await import('../../observability/tracing/create-tracing.ts');
  return createTracing({ settings, version, send, elapsed, logger });
}
