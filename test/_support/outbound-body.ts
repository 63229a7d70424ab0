import type { OutboundBody } from '../../src/core/outbound.ts';

/** The body of a scripted answer. `isClosed` tells whether its reader has closed it. */
export function outboundBody(pieces: AsyncIterable<Uint8Array>): OutboundBody & { isClosed: boolean } {
  const closing = Promise.withResolvers<IteratorResult<Uint8Array>>();
  const iterator = pieces[Symbol.asyncIterator]();
  /** The failure of a piece is a value, because what `take` throws is none of the body. */
  const next = (): Promise<IteratorResult<Uint8Array> | { failure: unknown }> =>
    Promise.race([iterator.next().catch((failure: unknown) => ({ failure })), closing.promise]);
  const body: OutboundBody & { isClosed: boolean } = {
    isClosed: false,
    [Symbol.asyncIterator]: () => iterator,
    async readEach(take) {
      for (let read = await next(); ; read = await next()) {
        if ('failure' in read) return read;
        if (read.done === true) return {};
        try {
          await take(read.value);
        } catch (error) {
          body.close();
          throw error;
        }
      }
    },
    close() {
      if (body.isClosed) return;
      body.isClosed = true;
      closing.resolve({ done: true, value: undefined });
      void iterator.return?.();
    },
  };
  return body;
}
