import type { StreamEncoder } from './answer-format.ts';

/** Streams of server-sent events, kept alive by a comment. */
export const serverSentEvents = {
  contentType: 'text/event-stream; charset=utf-8',
  keepAlive: () => ': keep-alive\n\n',
} satisfies Pick<StreamEncoder, 'contentType' | 'keepAlive'>;
