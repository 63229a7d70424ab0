const dataUri = /^data:[^,]*,/iu;

/** The text of a file, given as a `data:` URI or as base64. Undefined for other files, such as PDFs. */
export function textOfFile(data: string): string | undefined {
  const head = dataUri.exec(data)?.[0];
  const body = head === undefined ? data : data.slice(head.length);
  try {
    const text =
      head !== undefined && !/;base64,$/iu.test(head)
        ? decodeURIComponent(body)
        : new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(body, 'base64'));
    // A PDF can consist of only ASCII.
    return text.includes('\0') || text.startsWith('%PDF-') ? undefined : text;
  } catch {
    return undefined;
  }
}
