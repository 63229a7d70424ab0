/** A request to a tool server and its answer, as they were on the wire, without credentials: for people who look into one call (`record_requests`). */
export interface RecordedRequest {
  /** Method, URL and headers are absent of a message over a pipe. Names of headers are in lower case. */
  readonly method?: string;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: RecordedBody;
  /** Absent until it begins. */
  answer?: RecordedAnswer;
  /** Why there is no answer. */
  failure?: string;
}

interface RecordedAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** What has arrived of it by now. */
  readBody(): RecordedBody | undefined;
}

/** `base64`: of bytes that are no text. */
export interface RecordedBody {
  readonly text: string;
  readonly encoding?: 'base64';
  readonly isTruncated?: true;
}
