/** A charset that the text itself declares is within its first kilobyte (HTML, section 13.2.3.2; XML 1.0, section 4.3.3). */
const declarationBytes = 1_024;
const declared = /<meta[^>]{0,200}charset\s*=\s*["']?([\w.:-]{1,40})|^<\?xml[^>]{0,200}encoding\s*=\s*["']([\w.:-]{1,40})/i;

/**
 * Text of an answer: by its byte order mark, else by the charset of its header, else by what it says of itself, else UTF-8, and what is no UTF-8
 * is read as Windows-1252, which old servers mean when they say nothing. `isTruncated`: the last character may be a part of one.
 */
export function decodeText(bytes: Uint8Array, charset: string | undefined, isTruncated: boolean): string {
  const label = markedCharset(bytes) ?? charset ?? charsetWithin(bytes);
  const decoder = label === undefined ? undefined : tryDecoder(label);
  if (decoder !== undefined) return decoder.decode(bytes, { stream: isTruncated });
  return tryUtf8(bytes, isTruncated) ?? (label === undefined ? new TextDecoder('windows-1252') : new TextDecoder()).decode(bytes);
}

/** `undefined` for what is no UTF-8. */
export function tryUtf8(bytes: Uint8Array, isTruncated: boolean): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: isTruncated });
  } catch {
    return undefined;
  }
}

/** Names of charsets in Python, Java and elsewhere that are no labels of the Encoding Standard, without `-` and `_`. */
const aliases: Record<string, string> = {
  ansi: 'windows-1252',
  big5hkscs: 'big5',
  cp932: 'shift_jis',
  cp936: 'gbk',
  cp949: 'euc-kr',
  cp950: 'big5',
  eucjp: 'euc-jp',
  euckr: 'euc-kr',
  latin9: 'iso-8859-15',
  latin10: 'iso-8859-16',
  macroman: 'macintosh',
  mskanji: 'shift_jis',
  utf8mb4: 'utf-8',
  utf8sig: 'utf-8',
  utf16: 'utf-16',
  windows932: 'shift_jis',
};

/** Found by its label, or by a name that programs use for it: `latin-1`, `utf_8`, `cp1252`. */
function tryDecoder(label: string): InstanceType<typeof TextDecoder> | undefined {
  const name = label.trim().toLowerCase();
  const bare = name.replaceAll(/[-_ ]/g, '');
  const names = [name, name.replaceAll('_', '-'), bare, bare.replace(/^(?:cp|windows|win)(?=\d)/, 'windows-'), ownAlias(bare)];
  for (const each of names) {
    try {
      return new TextDecoder(each);
    } catch {
      // The next name.
    }
  }
  return undefined;
}

function ownAlias(name: string): string {
  return Object.hasOwn(aliases, name) ? (aliases[name] ?? name) : name;
}

/** The mark of UTF-8 needs no word: the decoder drops it. */
function markedCharset([first, second]: Uint8Array): string | undefined {
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  return first === 0xff && second === 0xfe ? 'utf-16le' : undefined;
}

function charsetWithin(bytes: Uint8Array): string | undefined {
  if (bytes[0] !== 0x3c) return undefined;
  const found = declared.exec(new TextDecoder('latin1').decode(bytes.subarray(0, declarationBytes)));
  return found?.[1] ?? found?.[2];
}
