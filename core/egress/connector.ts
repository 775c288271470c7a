import { isIP, type LookupFunction, type OnReadOpts, type Socket } from 'node:net'
import { callbackify } from 'node:util'
import { buildConnector } from 'undici'
import { isPublicAddress } from './address.ts'
import { codeOf, EgressError } from './errors.ts'
import { dnsResolver, isNameNotFound, type ResolvedAddress, type Resolver } from './resolver.ts'
import { SANDBOX_ADDRESS, type SandboxHosts } from './sandbox.ts'
import { isAllowedPort, portOf } from './target.ts'

/** Timeout for lookup, TCP and TLS together. */
const CONNECT_MS = 5_000

export interface ConnectorOptions {
  readonly sandboxHosts?: SandboxHosts
  readonly allowedPorts?: readonly number[]
  /** Default: the operating system's name servers. */
  readonly resolver?: Resolver
}

/**
 * Creates an undici connector that connects only to public addresses and allowed ports.
 * - An address in the URL is checked as it is: `lookup` is never called for it.
 * - A name is checked inside the lookup of the same connection, so that the checked address is the
 *   connected one. A name with any non-public address is refused, which prevents DNS rebinding.
 * - The remote address of the connected socket is checked again.
 *
 * Failures are passed as `EgressError` with `sent` false.
 */
export function guardedConnector(options: ConnectorOptions = {}): buildConnector.connector {
  const sandboxHosts = options.sandboxHosts ?? new Map<string, number>()
  const connect = buildConnector({
    allowH2: false,
    // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED cannot disable it.
    rejectUnauthorized: true,
    timeout: CONNECT_MS,
    onread: SHARED_READ_BUFFER,
    lookup: guardedLookup(sandboxHosts, options.resolver ?? dnsResolver()),
  })
  return (target, callback) => {
    const host = target.hostname.replace(/^\[(.*)\]$/, '$1')
    const port = portOf(target)
    if (!isAllowedPort(host, port, options) || !isAllowedHost(host)) {
      process.nextTick(callback, new EgressError('destination_not_allowed'), null)
      return
    }
    const sandboxPort = sandboxHosts.get(host)
    connect({ ...target, port: String(sandboxPort ?? port) }, (error, socket) => {
      const fault = error ? connectFault(error) : remoteFault(socket, sandboxPort)
      if (!fault && socket) return callback(null, socket)
      socket?.destroy()
      callback(fault ?? new EgressError('upstream_unreachable'), null)
    })
  }
}

/**
 * Option of node:net: all connections read into the same memory, and what was read is copied. Node
 * would allocate 64 KiB for each read, however short, and collect garbage the more often.
 */
export const SHARED_READ_BUFFER: OnReadOpts = {
  buffer: Buffer.allocUnsafeSlow(65_536),
  callback(this: Socket, length: number, buffer: Uint8Array): boolean {
    return this.push(Buffer.from(buffer.subarray(0, length)))
  },
}

/** Returns false for non-public addresses and for `localhost` and its subdomains (RFC 6761). */
function isAllowedHost(host: string): boolean {
  if (isIP(host)) return isPublicAddress(host)
  return !/(?:^|\.)localhost\.?$/i.test(host)
}

/** Creates a `lookup` for node:net that returns public addresses only. */
function guardedLookup(sandboxHosts: SandboxHosts, resolver: Resolver): LookupFunction {
  const resolve = callbackify(
    async (hostname: string): Promise<ResolvedAddress[]> =>
      sandboxHosts.has(hostname)
        ? [{ address: SANDBOX_ADDRESS, family: 4 }]
        : publicAddresses(hostname, resolver),
  )
  return (hostname, options, callback) => {
    resolve(hostname, (error, addresses) => {
      const [first] = addresses ?? []
      if (error || !first) callback(lookupFault(error), '', 0)
      else if (options.all) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
  }
}

/**
 * Resolves twice. One lookup would be safe, because the checked address is the connected one; the
 * second detects and refuses names that alternate between public and private addresses.
 */
async function publicAddresses(hostname: string, resolver: Resolver): Promise<ResolvedAddress[]> {
  const [first, second] = await Promise.all([resolver(hostname), resolver(hostname)])
  const blocked = [...first, ...second].filter(({ address }) => !isPublicAddress(address))
  if (first.length === 0 || blocked.length > 0) {
    const cause = new Error(`not public: ${hostname} ${blocked.map((a) => a.address).join(' ')}`)
    throw new EgressError('destination_not_allowed', { cause })
  }
  return [...first]
}

/** Returns one error for missing and non-public names, so that internal names stay secret. */
function lookupFault(cause: unknown): EgressError {
  if (cause instanceof EgressError) return cause
  const code = isNameNotFound(cause) ? 'destination_not_allowed' : 'upstream_unreachable'
  return new EgressError(code, { cause })
}

function remoteFault(socket: Socket | null, sandboxPort?: number): EgressError | undefined {
  const { remoteAddress, remotePort } = socket ?? {}
  if (remoteAddress === undefined) return new EgressError('upstream_unreachable')
  const allowed =
    sandboxPort === undefined
      ? isPublicAddress(remoteAddress)
      : remoteAddress === SANDBOX_ADDRESS && remotePort === sandboxPort
  if (!allowed) return new EgressError('destination_not_allowed')
}

/** Codes of OpenSSL and node:tls for an invalid certificate or a failed handshake. */
const TLS_ERROR_CODE =
  /^(?:ERR_TLS|ERR_SSL|ERR_OSSL|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|INVALID_|EPROTO)/

function connectFault(cause: unknown): EgressError {
  if (cause instanceof EgressError) return cause
  const code = codeOf(cause)
  if (TLS_ERROR_CODE.test(code) || code === 'HOSTNAME_MISMATCH') {
    return new EgressError('upstream_tls', { cause })
  }
  const timedOut = code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT'
  return new EgressError(timedOut ? 'upstream_timeout' : 'upstream_unreachable', { cause })
}
