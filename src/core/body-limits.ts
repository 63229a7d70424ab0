/** What a request's body may be, and what all of them together. Part of `limits`. */
export const bodyLimits = {
  /** A vision request with a few images fits; larger bodies are an attack or belong into a file store. */
  bodyBytes: 10 * 1024 * 1024,
  /** Deeper JSON has no use in a chat and overflows recursive code after it. */
  jsonDepth: 64,
  /** Nesting of a whole body: a document of `documentDepth` within a list of tool servers. Megabytes of brackets cost the parser seconds. */
  bodyDepth: 256,
  /** Up to here a body costs next to nothing, whatever it holds: it is neither counted nor looked through before it is parsed. */
  smallBodyBytes: 64 * 1024,
  /** A body, a frame or a result up to this size, with at most this many values, is parsed in place: five milliseconds. Others are parsed aside. */
  inPlaceCharacters: 512 * 1024,
  inPlaceValues: 10_000,
  /**
   * Values (objects, lists, texts and so on) in one body or frame, without inline documents: parsing, checking and writing them again takes a
   * microsecond each. Ten messages of a chat with tools have seventy, so the longest chat with 128 functions fits.
   */
  bodyValues: 50_000,
  /** Different names of fields in it: each of them costs as much as three values. */
  bodyFieldNames: 8_000,
  /** Numbers that stand directly in lists, which cost a tenth: tokens to be embedded. */
  bodyNumbers: 500_000,
  /** Fields of a chat's body, known and unknown ones. */
  chatFields: 256,
  /** Replacements in system prompts; frontends send about ten. */
  variables: 1_000,
  /** Parsing a body aside: many times what the largest takes. */
  parseTimeoutMs: 10_000,
  /** Larger bodies on their way in, over all requests: what is being received lies in memory before anybody has looked at it. */
  arrivingBodiesBytes: 64 * 1024 * 1024,
  /** Bodies of one caller that are on their way in and not whole; beyond it the slowest of them is given up. */
  arrivingBodiesPerCaller: 64,
  /** A body has to bring so many bytes in every such time: 1 kB/s, half of what the slowest mobile networks carry, with a gap of a tunnel. */
  bodyPaceBytes: 15_000,
  bodyPaceMs: 15_000,
  /** Pieces of one body that may be of any size. All together have to hold `bodyPieceBytes` on average: each costs the same, and 64 kB hold ten thousand of a byte. */
  smallBodyPieces: 500,
  bodyPieceBytes: 64,
  /** How long a connection stays for its client to read a refusal, while the rest of the body is not read. */
  refusedBodyLingerMs: 1_000,
} as const;
