import { destination as openDestination, type DestinationStream } from 'pino';
import { isColorSupported, prettyFactory } from 'pino-pretty';
import { escapeCharacters } from '../shared/text/visible-text.ts';
import { escapeControls } from './escape-controls.ts';

/** Turns lines of JSON into lines for people at a terminal. Default: standard output, in color where it can show it. */
export function prettyLines(output?: DestinationStream): DestinationStream {
  const lines = output ?? openDestination({ fd: 1, sync: true });
  const toPretty = prettyFactory({
    colorize: output === undefined && isColorSupported,
    translateTime: 'SYS:HH:MM:ss.l',
    singleLine: true,
    messageFormat: (line, key) => escapeLineBreaks(line[key]),
    // pino-pretty writes these two fields into the head of the line without escaping them.
    customPrettifiers: { caller: escapeLineBreaks, name: escapeLineBreaks },
  });
  return { write: (line) => lines.write(escapeControls(toPretty(line))) };
}

/** Pretty lines are not JSON, so foreign text must not start a new one. */
function escapeLineBreaks(value: unknown): string {
  const message = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  // eslint-disable-next-line no-control-regex -- matches control characters on purpose
  return message.replaceAll(/[\u0000-\u001F]/g, escapeCharacters);
}
