import type { Caller } from '../core/callers/caller.ts';
import type { MakeConnectLink } from '../core/user-input/connect.ts';
import type { ConnectGate, ConnectRequest } from '../core/tools/connect-gate.ts';
import type { OwnCredentials } from '../core/sign-in/credentials.ts';
import { canBeAsked } from '../core/runs/run.ts';
import type { SendElicitation } from '../core/tools/send-elicitation.ts';
import { ownValue } from '../shared/json/json.ts';
import { waitUnlessAborted } from '../shared/async/wait-for.ts';

interface ConnectGateOptions {
  sendElicitation: SendElicitation;
  /** A function, because the servers are created after the gate. */
  credentials: () => Pick<OwnCredentials, 'stateOf' | 'watch'>;
  makeLink: MakeConnectLink;
  /** How long a person may take. */
  timeoutMs: number;
}

/** `unavailable`: nobody could be asked. */
type Outcome = 'connected' | 'cancelled' | 'expired' | 'unavailable';

interface Asking {
  outcome: Promise<Outcome>;
  end: AbortController;
  waiting: number;
}

/**
 * Shows a link in the run's session, and continues as soon as the person has connected in any way. If nobody can be asked, the run is suspended. Calls of one run that need the same server share one link.
 */
export function createConnectGate(options: ConnectGateOptions): ConnectGate {
  return new AskingGate(options);
}

class AskingGate implements ConnectGate {
  readonly #options: ConnectGateOptions;
  /** By run and server. */
  readonly #asking = new Map<string, Asking>();

  constructor(options: ConnectGateOptions) {
    this.#options = options;
  }

  async connect(request: ConnectRequest): ReturnType<ConnectGate['connect']> {
    const { run, tool, callId, server } = request;
    if (!canBeAsked(run) && run.suspension === undefined) return { type: 'refused' };
    const data = { id: callId, tool, server: server.server };
    request.emit({ type: 'connect.request', data: { ...data, name: server.name } });
    const outcome = canBeAsked(run) ? await this.#askOnce(request) : 'unavailable';
    if (outcome === 'unavailable' && run.suspension !== undefined) return { type: 'waiting' };
    request.emit({ type: 'connect.response', data: { ...data, outcome } });
    if (outcome === 'connected') return { type: 'connected' };
    return { type: 'refused', ...(outcome !== 'unavailable' && { message: refusal(request, outcome, this.#options.timeoutMs) }) };
  }

  async #ask({ run, server: { server, name } }: ConnectRequest, signal: AbortSignal): Promise<Outcome> {
    const { caller } = run;
    const { promise: connected, resolve } = Promise.withResolvers<Outcome>();
    const unwatch = this.#options.credentials().watch(caller.id, server, () => resolve('connected'));
    const answered = new AbortController();
    try {
      if (await this.#isConnected(caller, server)) return 'connected';
      const url = await this.#options.makeLink(caller, server, run.address?.());
      if (url === undefined) return 'unavailable';
      const data = { run_id: run.runId, server, name, url, ...promptFor(name) };
      const ends = AbortSignal.any([signal, answered.signal]);
      const deadline = AbortSignal.timeout(this.#options.timeoutMs);
      const reply = this.#options.sendElicitation({ type: 'connect', data }, { run, signal: ends, timeoutMs: this.#options.timeoutMs });
      const answer = reply.then((given): Outcome | undefined => {
        if (given.type === 'expired') return 'expired';
        if (given.type !== 'answered') return 'unavailable';
        return ownValue(given.data, 'cancelled') === true ? 'cancelled' : undefined;
      });
      // A client that answers in another request reads the result with it, so the call must not run before.
      const first = await (run.askClient === undefined ? Promise.race([connected, answer]) : answer);
      if (first !== undefined) return first;
      // A person who has opened the link may still be signing in.
      const { promise: late, resolve: expire } = Promise.withResolvers<Outcome>();
      deadline.addEventListener('abort', () => expire('expired'), { once: true });
      if (deadline.aborted) expire('expired');
      return await waitUnlessAborted(Promise.race([connected, late]), signal);
    } finally {
      unwatch();
      answered.abort(new Error('This answer is no longer needed.'));
    }
  }

  async #isConnected(caller: Caller, server: string): Promise<boolean> {
    return (await this.#options.credentials().stateOf(caller, server)) === 'connected';
  }

  async #askOnce(request: ConnectRequest): Promise<Outcome> {
    const key = JSON.stringify([request.run.runId, request.server.server]);
    let shared = this.#asking.get(key);
    if (shared === undefined) {
      const end = new AbortController();
      const outcome = this.#ask(request, end.signal).finally(() => this.#asking.delete(key));
      // All calls that wait for it may have been cancelled.
      outcome.catch(() => undefined);
      shared = { outcome, end, waiting: 0 };
      this.#asking.set(key, shared);
    }
    shared.waiting += 1;
    try {
      return await waitUnlessAborted(shared.outcome, request.signal);
    } finally {
      shared.waiting -= 1;
      if (shared.waiting === 0) shared.end.abort(new Error('All calls that need this server were cancelled.'));
    }
  }
}

function promptFor(name: string): { title: string; message: string } {
  return { title: `Connect to ${name}?`, message: `To continue, ${name} needs to know who you are.` };
}

function refusal({ tool, server: { name } }: ConnectRequest, outcome: 'cancelled' | 'expired', timeoutMs: number): string {
  const why =
    outcome === 'cancelled'
      ? `The user does not want to connect to "${name}"`
      : `Nobody connected to "${name}" within ${timeoutMs / 1000}s`;
  return `${why}, so '${tool}' was not run. Do not call it again unless the user asks for it.`;
}
