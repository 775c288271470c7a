import { Agent, request } from 'undici'
import {
  BaseError,
  createPublicClient,
  HttpRequestError,
  type HttpTransportConfig,
  http,
  TimeoutError,
  type Transport,
} from 'viem'
import { base } from 'viem/op-stack'
import { elapsedMs } from '../../clock.ts'
import { singleFlight } from '../../runtime/cache.ts'
import { USDC_BASE } from './asset.ts'
import { type ChainIdentity, findDifference } from './identity.ts'

/** Opens connections to the hub's node. */
export type NodeTransport = (options: HttpTransportConfig) => Transport

/** Connections that trust the node, as for a sandbox's own chain. */
export const trustedNode =
  (rpcUrl: string): NodeTransport =>
  (options) =>
    openHttp(rpcUrl, options)

/** Largest response that is read: more than the logs of a span of blocks. */
const RESPONSE_BYTES_MAX = 64 * 1_048_576
const dispatcher = new Agent({ maxResponseSize: RESPONSE_BYTES_MAX })

/**
 * Transport whose timeout covers the whole response, unlike that of viem, which ends at the
 * headers, and whose responses have a maximum size.
 */
const openHttp = (rpcUrl: string, options: HttpTransportConfig) =>
  http(rpcUrl, { ...options, fetchFn: fetchWhole })

const fetchWhole: HttpTransportConfig['fetchFn'] = async (url, options) => {
  const { method = 'POST', headers, body, signal } = options ?? {}
  const response = await request(url as string, {
    method: method as 'POST',
    headers: Object.fromEntries(new Headers(headers)),
    body: body as string,
    signal: signal ?? null,
    dispatcher,
  })
  const { statusCode: status } = response
  const type = String(response.headers['content-type'] ?? 'application/json')
  const bytes = await response.body.arrayBuffer()
  return new Response(bytes, { status, headers: { 'content-type': type } })
}

/** The node serves another chain. Nothing is read from it or sent to it. */
export class WrongChain extends BaseError {
  override readonly name = 'WrongChain'
}

/** Connections to a node that must prove its chain. */
export interface ProvenNode {
  readonly transport: NodeTransport
  /** Proves the chain now. @throws WrongChain, or viem's error if the node does not respond */
  readonly prove: () => Promise<void>
}

interface ProofOptions {
  /** Monotonic time in milliseconds. @defaultValue elapsedMs */
  readonly now?: () => number
  /** Called for each failed proof. @defaultValue does nothing */
  readonly onRefused?: (error: WrongChain) => void
}

/** Age up to which a proof counts. From half of it on, it is renewed in the background. */
const PROOF_MS = 60_000
/** Pause before a node that failed the proof is asked again. */
const RETRY_MS = 5_000
const TIMEOUT_MS = 5_000

/**
 * Opens a node whose chain is proven before the first request, every minute, and after each lost
 * connection, because another node may have taken its place. Requests wait for the proof, and fail
 * with `WrongChain` without it.
 */
export function provenNode(
  rpcUrl: string,
  identity: ChainIdentity,
  { now = elapsedMs, onRefused = () => {} }: ProofOptions = {},
): ProvenNode {
  const transport = openHttp(rpcUrl, { timeout: TIMEOUT_MS, retryCount: 1 })
  const client = createPublicClient({ chain: base, transport, cacheTime: 0 })
  let provenAt = Number.NEGATIVE_INFINITY
  let refused: { readonly at: number; readonly error: WrongChain } | undefined

  const prove = singleFlight<'chain', void>(async () => {
    const startedAt = now()
    const difference = await findDifference(client, identity)
    if (difference === undefined) {
      provenAt = startedAt
      return
    }
    provenAt = Number.NEGATIVE_INFINITY
    refused = {
      at: startedAt,
      error: new WrongChain(`The node is not on ${chainName(identity)}: ${difference}.`),
    }
    onRefused(refused.error)
    throw refused.error
  })
  const assertProven = async (): Promise<void> => {
    const age = now() - provenAt
    if (age > PROOF_MS) {
      if (refused && now() - refused.at < RETRY_MS) throw refused.error
      await prove('chain')
    } else if (age > PROOF_MS / 2) void prove('chain').catch(() => {})
  }
  const forgetIfLost = (error: unknown): never => {
    if (isLostConnection(error)) provenAt = Number.NEGATIVE_INFINITY
    throw error
  }
  return {
    prove: () => prove('chain'),
    transport: (options) => (config) => {
      const opened = openHttp(rpcUrl, options)(config)
      const request = async (...args: Parameters<typeof opened.request>) => {
        await assertProven()
        return opened.request(...args).catch(forgetIfLost)
      }
      return { ...opened, request: request as typeof opened.request }
    },
  }
}

const chainName = ({ asset: { network, v1Network } }: ChainIdentity): string =>
  network === USDC_BASE.network ? 'Base' : v1Network

/** Returns true if no response arrived. A response with an error status is from the same node. */
const isLostConnection = (error: unknown): boolean =>
  error instanceof TimeoutError || (error instanceof HttpRequestError && error.status === undefined)
