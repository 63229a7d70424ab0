/** How the servers of a backend answer. Texts are for operators: they may contain addresses, and contain no secret. */
export interface BackendVerification {
  /** Whether all of its servers list models, or need not. */
  isOk: boolean;
  /** The models that it offers, by its own names. */
  models: string[];
  servers: ServerVerification[];
  warnings: string[];
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
