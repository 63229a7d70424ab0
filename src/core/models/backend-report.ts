/** How the servers of a backend answer. Texts are for operators: they may contain addresses, and contain no secret. */
export interface BackendVerification {
  /** Whether all of its servers list models, or need not. */
  isOk: boolean;
  /** The models that it offers, by its own names. */
  models: string[];
  /** What its servers say about these models, in the same order. */
  facts: ModelFacts[];
  servers: ServerVerification[];
  warnings: string[];
}

/** What the list of a server says about a model. Absent: it does not say. */
export interface ModelFacts {
  /** As clients name the model. */
  id: string;
  /** The largest context, in tokens. */
  context?: number;
  /** On the disk of the server. */
  bytes?: number;
  /** The number of parameters in the words of the server, such as `8.0B`. */
  parameters?: string;
  tools?: boolean;
  vision?: boolean;
}

export interface ServerVerification extends Partial<ListDiagnosis> {
  url: string;
  /** Models that it lists. */
  models: number;
}

/** Why the models of a server cannot be listed. */
export interface ListDiagnosis {
  fault: string;
  /** What to do, as a sentence. */
  cure: string;
}
