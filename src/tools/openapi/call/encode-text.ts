import { ArgumentError } from './argument-error.ts';

/** Turns a text into what a part of the request may contain, e.g. by percent-encoding. */
export type Encode = (text: string) => string;

/**
 * Reserved characters that may stand as they are under `allowReserved` (RFC 6570 section 3.2.3). In a query `&`, `=`, `+` and `#` stay encoded,
 * because they would end the value or change it, and brackets, because no URL may hold them there (OpenAPI 3.1.1, Parameter Object); in a path
 * (OpenAPI 3.2) whatever could end the segment.
 */
const leftInQuery = /%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/g;
const leftInPath = /%(?:3A|40|21|24|26|27|28|29|2A|2B|2C|3B|3D)/g;

/** @throws ArgumentError for half a character, which UTF-8 cannot hold. */
export function percentEncoder(argument: string, reserved?: 'query' | 'path' | false): Encode {
  return (text) => {
    if (!text.isWellFormed()) throw new ArgumentError(`${argument}: contains half a character (a lone surrogate); write it again`);
    const encoded = encodeURIComponent(text);
    if (reserved === undefined || reserved === false) return encoded;
    return encoded.replaceAll(reserved === 'query' ? leftInQuery : leftInPath, (code) => decodeURIComponent(code));
  };
}

export function asItIs(text: string): string {
  return text;
}
