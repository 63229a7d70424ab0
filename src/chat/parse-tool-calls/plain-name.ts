/** Without the name space and the counter that some templates add (`functions.get_time:0`), and without Markdown's escapes. */
export function plainName(written: string): string {
  const trimmed = written.includes('\\') ? written.trim().replaceAll('\\_', '_') : written.trim();
  const name = trimmed.startsWith('functions.') ? trimmed.slice('functions.'.length) : trimmed;
  return name.replace(/:\d{1,6}$/, '');
}
