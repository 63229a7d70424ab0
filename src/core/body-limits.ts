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
  /** Larger bodies on their way in, over all requests: what is being received lies in memory before anybody has looked at it. */
  arrivingBodiesBytes: 64 * 1024 * 1024,
  /** How long a connection stays for its client to read a refusal, while the rest of the body is not read. */
  refusedBodyLingerMs: 1_000,
} as const;
