/** Without the name space and the counter that some templates add (`functions.get_time:0`, Gemma's `default_api.get_time`), and without Markdown's escapes. */
export function plainName(written: string): string {
  const trimmed = written.includes('\\') ? written.trim().replaceAll('\\_', '_') : written.trim();
  return trimmed.replace(/^(?:functions|default_api)\./, '').replace(/:\d{1,6}$/, '');
}
