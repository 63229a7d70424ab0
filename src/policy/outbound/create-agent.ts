import type { Socket } from 'node:net';
import { Agent, buildConnector, Client, Pool, type Dispatcher } from 'undici';
import { limits } from '../../core/limits.ts';
import { classifyAddress } from './classify-address.ts';
import { isReachable, type Reach } from './egress.ts';
import { AddressRefused, type NameResolver } from './resolve-names.ts';
import { ResponseReceiver } from './response-receiver.ts';

/** Below the 5 s after which common servers close an idle connection: requests are never repeated, so they must not use a connection that is closing. */
const keepAliveMs = 4_000;
/** Size of all headers of a response; even those of a proxy with long policies are smaller. */
const responseHeaderBytes = 32 * 1024;
/** The high-water mark of a socket. */
const bufferedBytes = 16 * 1024;

interface AgentOptions {
  names: NameResolver;
  /** Of one origin. */
  connections: number;
  connectTimeoutMs?: number;
}

export function createAgent(reach: Reach, options: AgentOptions): Agent {
  return new Agent({
    connect: createConnector(reach, options),
    // A connection becomes free a moment after its request has ended.
    connections: options.connections,
    // One request at a time on a connection, so that answers cannot be mixed up.
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: keepAliveMs,
    maxHeaderSize: responseHeaderBytes,
    factory: (origin, poolOptions: Pool.Options) =>
      new Pool(origin, {
        ...poolOptions,
        factory: (address, clientOptions: Client.Options) => new SingleConnection(address, clientOptions),
      }),
  });
}

/** A client with one connection at a time, which it passes to the receiver of each response. */
class SingleConnection extends Client {
  readonly #current: { socket?: Socket };

  constructor(origin: URL | string, { connect, ...options }: Client.Options) {
    const current: { socket?: Socket } = {};
    if (typeof connect !== 'function') throw new TypeError('The connector that checks addresses is missing');
    super(origin, {
      ...options,
      connect: (target, callback) =>
        connect(target, (...made) => {
          const [, socket] = made;
          if (socket !== null) current.socket = socket;
          callback(...made);
        }),
    });
    this.#current = current;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if (handler instanceof ResponseReceiver) handler.connection = this.#current;
    return super.dispatch(options, handler);
  }
}

/**
 * Checks every DNS answer before connecting, and the peer's address afterwards, so that a name cannot change between check and use. Hosts that are IP
 * addresses skip the lookup; `decideEgress` has checked them.
 */
function createConnector(reach: Reach, options: AgentOptions): buildConnector.connector {
  const settings = {
    allowH2: false,
    timeout: options.connectTimeoutMs ?? limits.connectTimeoutMs,
    lookup: options.names.lookupWithin(reach),
    highWaterMark: bufferedBytes,
    // Explicit, because an environment variable could disable it.
    rejectUnauthorized: true,
  };
  const connect = buildConnector(settings);
  return (target, callback) => {
    connect(target, (error, socket) => {
      if (error !== null) return callback(error, null);
      if (socket.remoteAddress === undefined) return callback(new Error('The peer disconnected at once'), null);
      const addressClass = classifyAddress(socket.remoteAddress);
      if (!isReachable(addressClass, reach)) {
        socket.destroy();
        return callback(new AddressRefused(addressClass), null);
      }
      return callback(null, markResets(socket));
    });
  };
}

/**
 * undici treats a reset as the proper end of a body without a length, and fails requests that are only waiting for the connection. With undici's own
 * code for a broken socket, the body fails as cut off, and the waiting requests get a new connection.
 */
function markResets<T extends Socket>(socket: T): T {
  return socket.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'ECONNRESET') error.code = 'UND_ERR_SOCKET';
  });
}
