export interface ReadRequest {
  method: string;
  url: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  body: string;
  /** Bytes that belong to the next request. */
  rest: Buffer<ArrayBuffer>;
}

/** Reads one HTTP/1.1 request off a socket; undefined when the peer has ended its side. */
export async function readHttpRequest(reading: AsyncIterator<Buffer>, begun: Buffer<ArrayBuffer>): Promise<ReadRequest | undefined> {
  let bytes = begun;
  const more = async (): Promise<boolean> => {
    const next = await reading.next();
    if (next.done === true) return false;
    bytes = Buffer.concat([bytes, next.value]);
    return true;
  };
  while (bytes.indexOf('\r\n\r\n') === -1) if (!(await more())) return undefined;
  const end = bytes.indexOf('\r\n\r\n');
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const [method = '', url = ''] = first.split(' ');
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  bytes = bytes.subarray(end + 4);

  if (headers['transfer-encoding'] === 'chunked') {
    while (bytes.indexOf('0\r\n\r\n') === -1) if (!(await more())) return undefined;
    const bodyEnd = bytes.indexOf('0\r\n\r\n') + 5;
    return { method, url, headers, body: joinChunks(bytes.subarray(0, bodyEnd)), rest: bytes.subarray(bodyEnd) };
  }
  const length = Number(headers['content-length'] ?? 0);
  while (bytes.byteLength < length) if (!(await more())) return undefined;
  return { method, url, headers, body: bytes.subarray(0, length).toString(), rest: bytes.subarray(length) };
}

function joinChunks(bytes: Buffer): string {
  const pieces: Buffer[] = [];
  let offset = 0;
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', offset);
    const size = Number.parseInt(bytes.subarray(offset, lineEnd).toString('latin1'), 16);
    if (!(size > 0)) return Buffer.concat(pieces).toString();
    pieces.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    offset = lineEnd + 2 + size + 2;
  }
}
