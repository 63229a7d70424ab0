import { GatewayError } from '../../core/errors.ts';
import { newAttempts, serverFaultOf, takeAttempt, type Attempts, type RoutingMetrics } from '../../core/models/attempts.ts';
import { FairQueue } from '../../shared/fairness/fair-queue.ts';
import { coolDownMs } from './cool-down.ts';
import { QueuedRequest } from './queued-request.ts';

/** At half a minute for an answer, the last of as many waits most of an hour. */
const usualQueue = 100;
/** Of a refusal because too many wait. Whoever comes back soon finds the next free place. */
const retryAfterSeconds = 5;

interface PoolOptions {
  /** The name of the entry in error messages. */
  name: string;
  addresses: number;
  /** Requests that one address answers at a time. Absent: any number. */
  maxConcurrent?: number | undefined;
  /** Requests that may wait. Default: a hundred. */
  queue?: number | undefined;
  metrics?: RoutingMetrics | undefined;
  /** Milliseconds of a monotonic clock. */
  elapsed: () => number;
  /** Milliseconds since 1970. */
  now?: (() => number) | undefined;
  /** From 0 up to 1. */
  random?: (() => number) | undefined;
}

/** A request that needs one of the addresses. */
export interface PooledRequest {
  model: string;
  /** The id of the caller, for turns in the queue. */
  owner: string;
  signal: AbortSignal;
  /** Default: those of a request that nothing else repeats. */
  attempts?: Attempts | undefined;
  /** Told its place in the queue, from 1, whenever that has changed, and 0 when its turn has come. Not called if it need not wait. */
  onPlace?: ((place: number) => Promise<void> | undefined) | undefined;
  /** Whether the request may still be made elsewhere. Default: always. */
  mayMove?: (() => boolean) | undefined;
  /** Called before it is made elsewhere. */
  onMove?: ((fault: GatewayError) => void) | undefined;
}

interface Address {
  readonly index: number;
  running: number;
  /** Failures in a row that have led to a cool-down. */
  failures: number;
  /** When the last cool-down began, and when it ends, by the clock of `elapsed`. */
  cooledAt: number;
  coolUntil: number;
  /** The models of its last list; undefined: unknown. */
  models: ReadonlySet<string> | undefined;
}

/**
 * The addresses of one entry, which serve the same models. A request goes to the least busy one that is not cooling down and has its model; if all are
 * cooling down, to the one that is free first, so that a failure never ends an entry. With a limit, requests beyond it wait, and callers take turns.
 */
export class AddressPool {
  readonly #options: PoolOptions;
  readonly #addresses: readonly Address[];
  readonly #waiting = new FairQueue<QueuedRequest<Address>>();
  readonly #mostRunning: number;
  readonly #mostWaiting: number;
  #timer: NodeJS.Timeout | undefined;
  #telling: NodeJS.Immediate | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
    const { addresses, maxConcurrent = Infinity, queue = usualQueue } = options;
    this.#mostRunning = maxConcurrent;
    this.#mostWaiting = queue;
    this.#addresses = Array.from({ length: addresses }, (_, index) => ({
      index,
      running: 0,
      failures: 0,
      cooledAt: -Infinity,
      coolUntil: -Infinity,
      models: undefined,
    }));
  }

  /** Requests that wait. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** The order in which addresses are asked for what is no request of a model. */
  inOrder(model?: string): number[] {
    const rank = (address: Address): number => (hasModel(address, model) ? 0 : 2) + (this.#isCool(address) ? 0 : 1);
    return this.#addresses.toSorted((one, other) => rank(one) - rank(other)).map(({ index }) => index);
  }

  noteModels(index: number, models: Iterable<string>): void {
    const address = this.#addresses[index];
    if (address !== undefined) address.models = new Set(models);
  }

  /**
   * Makes a request with a slot at one of the addresses, and at another one if a server's fault allows it.
   * @throws GatewayError `overloaded` if too many wait; the signal's reason if it aborts first; what `work` throws
   */
  async run<Result>(request: PooledRequest, work: (index: number) => Promise<Result>): Promise<Result> {
    const { attempts = newAttempts() } = request;
    const tried = new Set<Address>();
    let failure: GatewayError | undefined;
    for (;;) {
      const address = await this.#take(request, tried, failure);
      const began = this.#options.elapsed();
      try {
        const result = await work(address.index);
        this.#noteSuccess(address, began);
        this.#count('answered');
        return result;
      } catch (error) {
        const fault = serverFaultOf(error);
        if (request.signal.aborted || !(error instanceof GatewayError)) throw error;
        this.#count(fault ?? 'refused');
        if (fault === undefined) throw error;
        if (fault === 'down') this.#coolDown(address, error, began);
        tried.add(address);
        // That another address does not have the model says nothing about the failure before.
        if (fault !== 'missing' || failure === undefined) failure = error;
        if (request.mayMove?.() === false || !this.#hasOther(request.model, tried) || !takeAttempt(attempts, fault)) throw failure;
        request.onMove?.(error);
      } finally {
        address.running -= 1;
        this.#serve();
      }
    }
  }

  /** Takes a slot. `failure`: why the request is made again. */
  async #take(request: PooledRequest, tried: ReadonlySet<Address>, failure: GatewayError | undefined): Promise<Address> {
    const { model, owner, signal, onPlace } = request;
    signal.throwIfAborted();
    // Those who wait come first: an address may have cooled down just now.
    if (this.#waiting.size > 0) this.#serve();
    const free = this.#pick(model, tried);
    if (free !== undefined) {
      free.running += 1;
      return free;
    }
    const queued = new QueuedRequest<Address>({ model, owner, tried });
    this.#waiting.push(owner, queued);
    if (this.#waiting.size > this.#mostWaiting) {
      const last = this.#waiting.last() ?? queued;
      this.#refuse(last, last === queued ? failure : undefined);
    }
    this.#tellPlaces();
    this.#wakeLater();
    try {
      return await queued.wait(signal, onPlace);
    } catch (error) {
      if (!this.#waiting.remove(owner, queued)) this.#leave(queued);
      this.#tellPlaces();
      throw error;
    }
  }

  /** A request whose turn came while it gave up. */
  #leave({ served }: QueuedRequest<Address>): void {
    if (served === undefined) return;
    served.running -= 1;
    this.#serve();
  }

  /** Too many wait. `failure`: why the request was to be made again. */
  #refuse(queued: QueuedRequest<Address>, failure: GatewayError | undefined): void {
    this.#waiting.remove(queued.owner, queued);
    const { name } = this.#options;
    const message = `The model backend "${name}" is busy, and ${this.#mostWaiting} requests wait for it already. Try again in a moment, or choose another model.`;
    queued.refuse(failure ?? new GatewayError('overloaded', message, { retryAfter: String(retryAfterSeconds) }));
  }

  /** Gives free slots to those who wait. */
  #serve(): void {
    if (this.#waiting.size === 0) return;
    for (;;) {
      let free: Address | undefined;
      const next = this.#waiting.shiftWhere(({ model, tried }) => (free = this.#pick(model, tried, true)) !== undefined);
      if (next === undefined || free === undefined) break;
      free.running += 1;
      next.serve(free);
    }
    this.#tellPlaces();
    this.#wakeLater();
  }

  #count(outcome: Parameters<RoutingMetrics['countAttempt']>[1]): void {
    this.#options.metrics?.countAttempt(this.#options.name, outcome);
  }

  /** Once for all that come, leave and are served in one turn of the event loop: a thousand may leave together. */
  #tellPlaces(): void {
    this.#options.metrics?.noteQueue(this.#options.name, this.#waiting.size);
    if (this.#telling !== undefined) return;
    this.#telling = setImmediate(() => {
      this.#telling = undefined;
      let place = 0;
      for (const queued of this.#waiting.inOrder()) queued.moveTo(++place);
    });
  }

  /** While requests wait for busy addresses, one that has cooled down may take them, and nothing else would tell. */
  #wakeLater(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#waiting.size === 0) return;
    const cooling = this.#addresses.filter((address) => !this.#isCool(address) && address.running < this.#mostRunning);
    if (cooling.length === 0) return;
    const next = Math.min(...cooling.map(({ coolUntil }) => coolUntil));
    this.#timer = setTimeout(() => this.#serve(), Math.max(1, Math.ceil(next - this.#options.elapsed())));
    this.#timer.unref();
  }

  /** Undefined if the request has to wait. `mayDisturb`: an address that cools down is taken if there is no other, though one was tried before. */
  #pick(model: string, tried: ReadonlySet<Address>, mayDisturb = tried.size === 0): Address | undefined {
    const serving = this.#serving(model, tried);
    const cool = serving.filter((address) => this.#isCool(address));
    const isFree = ({ running }: Address): boolean => running < this.#mostRunning;
    if (cool.length > 0) return leastOf(cool.filter(isFree), ({ running }) => running);
    return mayDisturb ? leastOf(serving.filter(isFree), ({ coolUntil }) => coolUntil) : undefined;
  }

  /** Whether another address may be asked, without disturbing one that cools down. */
  #hasOther(model: string, tried: ReadonlySet<Address>): boolean {
    return this.#serving(model, tried).some((address) => this.#isCool(address));
  }

  /** Those that are left and have the model, as far as they have said; if none has, all that are left. */
  #serving(model: string, tried: ReadonlySet<Address>): Address[] {
    const left = this.#addresses.filter((address) => !tried.has(address));
    const having = left.filter((address) => hasModel(address, model));
    return having.length > 0 ? having : left;
  }

  #isCool({ coolUntil }: Address): boolean {
    return coolUntil <= this.#options.elapsed();
  }

  /** An answer that began before the failure says nothing about the time after it. */
  #noteSuccess(address: Address, began: number): void {
    if (began <= address.cooledAt) return;
    address.failures = 0;
    address.coolUntil = -Infinity;
  }

  /** Requests that were under way together fail together, which counts as one failure. */
  #coolDown(address: Address, fault: GatewayError, began: number): void {
    const { elapsed, now = Date.now, random = Math.random } = this.#options;
    const time = elapsed();
    if (began > address.cooledAt) {
      address.failures += 1;
      address.cooledAt = time;
    }
    const pause = coolDownMs(fault, { failures: address.failures, now: now(), chance: random() });
    address.coolUntil = Math.max(address.coolUntil, time + pause);
  }
}

function hasModel({ models }: Address, model: string | undefined): boolean {
  return model === undefined || models === undefined || models.has(model);
}

/** The first one among equals: its caches are warm. */
function leastOf(addresses: readonly Address[], measure: (address: Address) => number): Address | undefined {
  return addresses.reduce<Address | undefined>(
    (least, address) => (least === undefined || measure(address) < measure(least) ? address : least),
    undefined,
  );
}
