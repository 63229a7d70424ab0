/** The name of a header: a token of RFC 9110, section 5.6.2. Names of cookies have the same characters (RFC 6265, section 4.1.1). */
export const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
