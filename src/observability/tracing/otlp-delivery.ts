import { setTimeout as pause } from 'node:timers/promises';
import { ExportResultCode, type ExportResult } from '@opentelemetry/core';
import type { SendOutbound } from '../../core/outbound.ts';
import type { OtlpTarget } from './tracing-settings.ts';

/** Collectors answer within milliseconds. */
const exportMs = 10_000;
/** When a batch that a busy collector has refused is sent again. */
const retryMs = [1_000, 4_000];
const retriedStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** An exporter of spans and of metrics, as the SDK uses it. */
interface Exporter<Batch> {
  export(batch: Batch, onResult: (result: ExportResult) => void): void;
  forceFlush(): Promise<void>;
  shutdown(): Promise<void>;
}

/**
 * Sends batches to a collector over the gateway's way out. OpenTelemetry's exporters open connections of their own, which no rule for outgoing requests
 * reaches. A batch that cannot be delivered is dropped; nobody waits for one but a shutdown.
 */
export class OtlpDelivery {
  readonly #send: SendOutbound;
  readonly #onFault: (fault: { url: string; reason: string }) => void;
  readonly #closing = new AbortController();
  readonly #pending = new Set<Promise<void>>();
  /** URLs that failed last. */
  readonly #failing = new Set<string>();

  /** `onFault`: called when a URL fails, and again only after it has worked in between. */
  constructor(send: SendOutbound, onFault: (fault: { url: string; reason: string }) => void) {
    this.#send = send;
    this.#onFault = onFault;
  }

  exporterTo<Batch>(target: OtlpTarget, serialize: (batch: Batch) => Uint8Array | undefined): Exporter<Batch> {
    return {
      export: (batch, onResult) => {
        const delivered = this.#deliver(target, serialize(batch)).then((isDelivered) => {
          this.#pending.delete(delivered);
          onResult({ code: isDelivered ? ExportResultCode.SUCCESS : ExportResultCode.FAILED });
        });
        this.#pending.add(delivered);
      },
      forceFlush: () => this.whenDelivered(),
      shutdown: () => this.whenDelivered(),
    };
  }

  async whenDelivered(): Promise<void> {
    await Promise.all(this.#pending);
  }

  /** Ends what is still being sent. */
  end(): void {
    this.#closing.abort(new Error('The gateway stopped.'));
  }

  /** Whether the collector took it. Never rejects. */
  async #deliver(target: OtlpTarget, body: Uint8Array | undefined): Promise<boolean> {
    try {
      await this.#attempt(target, body);
      this.#failing.delete(target.url);
      return true;
    } catch (error) {
      const isNew = !this.#failing.has(target.url) && !this.#closing.signal.aborted;
      this.#failing.add(target.url);
      if (isNew) this.#onFault({ url: target.url, reason: error instanceof Error ? error.message : String(error) });
      return false;
    }
  }

  async #attempt(target: OtlpTarget, body: Uint8Array | undefined): Promise<void> {
    if (body === undefined) throw new Error('The batch cannot be serialized.');
    for (let attempt = 0; ; attempt += 1) {
      const status = await this.#post(target, body);
      if (status < 300) return;
      const waitMs = retriedStatuses.has(status) ? retryMs[attempt] : undefined;
      if (waitMs === undefined) throw new Error(`The collector answered with status ${status}.`);
      await pause(waitMs, undefined, { signal: this.#closing.signal, ref: false });
    }
  }

  async #post({ url, headers, contentType }: OtlpTarget, body: Uint8Array): Promise<number> {
    const { status, body: answer } = await this.#send({
      method: 'POST',
      url,
      headers: { ...headers, 'content-type': contentType },
      body,
      trust: { kind: 'configured', origin: new URL(url).origin },
      signal: this.#closing.signal,
      firstByteTimeoutMs: exportMs,
      idleTimeoutMs: exportMs,
    });
    answer.close();
    return status;
  }
}
