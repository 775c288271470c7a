import { lookup } from 'node:dns/promises'
import { isIP, type LookupFunction, type Socket } from 'node:net'
import { callbackify } from 'node:util'
import { buildConnector } from 'undici'
import { isPublicAddress } from './address.ts'
import { EgressError } from './errors.ts'
import { SANDBOX_ADDRESS, type SandboxHosts } from './sandbox.ts'
import { isAllowedPort, portOf } from './target.ts'

export interface ResolvedAddress {
  readonly address: string
  readonly family: number
}

/** All addresses of a name. Rejects, with the codes of node:dns, when there are none. */
export type Resolver = (hostname: string) => Promise<readonly ResolvedAddress[]>

export interface ConnectorOptions {
  readonly sandboxHosts?: SandboxHosts
  readonly allowedPorts?: readonly number[]
  /** Default: the resolver of the operating system. */
  readonly resolver?: Resolver
  /** Milliseconds for lookup, TCP and TLS together. Default 5,000. */
  readonly connectMs?: number
}

const systemResolver: Resolver = (hostname) => lookup(hostname, { all: true, order: 'verbatim' })

/** Answers that say "there is no such name", as opposed to "ask again later". */
const NO_SUCH_NAME = ['ENOTFOUND', 'ENODATA']

/**
 * The one way to a foreign host: an undici connector that opens a socket only to a public address
 * and an allowed port.
 * - An address in the URL is checked as it is: `lookup` is never called for it.
 * - A name is checked inside the lookup of the very connection, so the checked address is the
 *   connected one; a single address that is not public refuses the name (security A013, A014).
 * - What the socket is really connected to is checked once more.
 *
 * Failures reach the caller as `EgressError` with `sent` false.
 */
export function guardedConnector(options: ConnectorOptions = {}): buildConnector.connector {
  const sandboxHosts = options.sandboxHosts ?? new Map<string, number>()
  const connect = buildConnector({
    allowH2: false,
    // Stated, so that NODE_TLS_REJECT_UNAUTHORIZED cannot switch it off (security A086).
    rejectUnauthorized: true,
    timeout: options.connectMs ?? 5_000,
    lookup: guardedLookup(sandboxHosts, options.resolver ?? systemResolver),
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

/** Whether a host may be looked up at all; RFC 6761 reserves `localhost` and names below it. */
function isAllowedHost(host: string): boolean {
  if (isIP(host)) return isPublicAddress(host)
  return !/(?:^|\.)localhost\.?$/i.test(host)
}

/** A `lookup` for node:net that answers with public addresses, or not at all. */
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
 * Asks twice. The guard is safe with one answer, since it connects to what it checked; the second
 * refuses a name that changes sides openly, instead of visiting the public one of its faces.
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

/**
 * A name that does not exist and one that is not public give the same answer, lest the names of
 * our own network be guessed by asking.
 */
function lookupFault(cause: unknown): EgressError {
  if (cause instanceof EgressError) return cause
  const unknownName = NO_SUCH_NAME.includes(codeOf(cause))
  return new EgressError(unknownName ? 'destination_not_allowed' : 'upstream_unreachable', {
    cause,
  })
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

/** Codes of OpenSSL and node:tls for a certificate or a handshake that is not good. */
const TLS =
  /^(?:ERR_TLS|ERR_SSL|ERR_OSSL|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|INVALID_|EPROTO)/

function connectFault(cause: unknown): EgressError {
  if (cause instanceof EgressError) return cause
  const code = codeOf(cause)
  if (TLS.test(code) || code === 'HOSTNAME_MISMATCH') {
    return new EgressError('upstream_tls', { cause })
  }
  const late = code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT'
  return new EgressError(late ? 'upstream_timeout' : 'upstream_unreachable', { cause })
}

/** The `code` of a system or undici error; empty when it has none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
