import { html, type Html } from './html.ts';

/** Created for the first page, because the data of `Intl` takes 4 MB. */
let shownTime: Intl.DateTimeFormat | undefined;

/** `time`: milliseconds since 1970. */
export function timeOf(time: number): Html {
  shownTime ??= new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });
  return html`<time datetime="${new Date(time).toISOString()}">${shownTime.format(time)} UTC</time>`;
}
