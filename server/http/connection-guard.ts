import type { IncomingMessage, ServerResponse } from 'node:http'
import { elapsedMs } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import { networkPrefix } from '../../core/usage/network.ts'
import { BODY_BYTES_MAX } from './body.ts'

/** Limits of the memory and time that a process spends on slow connections. */
export interface ConnectionLimits {
  /** Memory for bodies that are being received or that nobody has read yet, over the process. */
  readonly budgetBytes: number
  /** Minimum rate at which a client must take a response. */
  readonly bytesPerSecond: number
  /** Time that a client may be behind that rate. */
  readonly graceMs: number
  /** Maximum time from the first byte of a complete response to the last. */
  readonly wholeMs: number
  /** Interval of the checks. */
  readonly sweepMs: number
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  budgetBytes: 256 * 1_048_576,
  bytesPerSecond: 16_384,
  graceMs: 30_000,
  wholeMs: 600_000,
  sweepMs: 1_000,
}

/** Identity of a request, completed while it is handled. */
export interface Requester {
  readonly keyId?: string | undefined
  /** Microdollars charged for the request. */
  readonly charged?: bigint | undefined
}

/** Least deserving first. */
const RANKS = ['keyless', 'keyed', 'paying'] as const
type Rank = (typeof RANKS)[number]

/** Part of the budget that a rank and those below it may use together. */
const SHARES: Readonly<Record<Rank, number>> = { keyless: 0.25, keyed: 0.5, paying: 1 }

/** Part of the budget that may be added before it is enforced: summing up is costly. */
const SLACK = 1 / 64

/** Why a connection was cut. */
export type CutReason = 'memory' | 'too_slow' | 'deadline'

/** A request whose response is not complete. */
interface OpenRequest {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly requester: Requester
  /** Declared length of the request body. */
  readonly uploadBytes: number
  /** Length of the complete response body; 0 before it is sent, and for streams. */
  bodyBytes: number
  bodySince: number
  /** Bytes that the client had taken and sent at the last check. */
  taken: number
  received: number
  progressAt: number
  /** Milliseconds that the client is behind the minimum rate. */
  behindMs: number
}

/**
 * Cuts the connections of clients that do not read their responses or send their requests in time,
 * or whose bodies exceed their part of the memory budget: callers without a key before others,
 * then those who paid nothing; within a rank, the largest holder's slowest connection.
 */
export class ConnectionGuard {
  readonly #limits: ConnectionLimits
  readonly #log: Log
  readonly #onCut: (reason: CutReason) => void
  readonly #open = new Map<ServerResponse, OpenRequest>()
  /** Bytes added since the budget was last enforced. */
  #addedBytes = 0
  #timer: NodeJS.Timeout | undefined
  #sweptAt = 0

  constructor(
    log: Log,
    limits: Partial<ConnectionLimits> = {},
    onCut: (reason: CutReason) => void = () => undefined,
  ) {
    this.#log = log
    this.#limits = { ...CONNECTION_LIMITS, ...limits }
    this.#onCut = onCut
  }

  /** Watches a request until its response is complete or its connection closes. */
  watch(req: IncomingMessage, res: ServerResponse, requester: Requester): void {
    const now = elapsedMs()
    const { socket } = req
    const uploadBytes = declaredLength(req)
    this.#open.set(res, {
      req,
      res,
      requester,
      uploadBytes,
      bodyBytes: 0,
      bodySince: 0,
      taken: socket.bytesWritten - socket.writableLength,
      received: socket.bytesRead,
      progressAt: now,
      behindMs: 0,
    })
    if (uploadBytes > 0) this.#add(uploadBytes)
    if (this.#timer) return
    this.#sweptAt = now
    this.#timer = setInterval(() => this.sweep(), this.#limits.sweepMs).unref()
  }

  /** Ends the watch of a response. */
  forget(res: ServerResponse): void {
    this.#open.delete(res)
    if (this.#open.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#addedBytes = 0
  }

  /** Counts a complete body that is about to be written, and makes room for it. */
  admit(res: ServerResponse, bytes: number): void {
    const open = this.#open.get(res)
    if (!open) return
    open.bodyBytes = bytes
    open.bodySince = elapsedMs()
    this.#add(bytes)
  }

  /** Cuts connections that are behind the minimum rate or beyond the deadline. */
  sweep(): void {
    const now = elapsedMs()
    const passedMs = now - this.#sweptAt
    this.#sweptAt = now
    for (const open of this.#open.values()) {
      const reason = this.#measure(open, now, passedMs)
      if (reason) this.#cut(open, reason)
    }
    this.#enforceBudget(now)
  }

  #add(bytes: number): void {
    this.#addedBytes += bytes
    if (this.#addedBytes > this.#limits.budgetBytes * SLACK) this.#enforceBudget(elapsedMs())
  }

  #measure(open: OpenRequest, now: number, passedMs: number): CutReason | undefined {
    const { bytesPerSecond, graceMs, wholeMs } = this.#limits
    const { req, res } = open
    const { socket } = req
    const taken = socket.bytesWritten - socket.writableLength
    if (taken !== open.taken || socket.bytesRead !== open.received) open.progressAt = now
    const allowedMs = ((taken - open.taken) / bytesPerSecond) * 1_000
    // A pipelined response without a socket waits for an earlier one, not for the client.
    const isWaiting = res.socket !== null && res.writableLength > 0
    open.behindMs = isWaiting ? Math.max(0, open.behindMs + passedMs - allowedMs) : 0
    open.taken = taken
    open.received = socket.bytesRead
    if (open.behindMs > graceMs) return 'too_slow'
    if (open.bodyBytes > 0 && now - open.bodySince > wholeMs) return 'deadline'
    return undefined
  }

  #enforceBudget(now: number): void {
    let total = 0
    for (const rank of RANKS) {
      const members = [...this.#open.values()].filter((open) => rankOf(open) === rank)
      total += sumOf(members)
      const limit = this.#limits.budgetBytes * SHARES[rank]
      while (total > limit) {
        const victim = slowestOfLargestHolder(members, now)
        if (!victim) break
        total -= heldBytes(victim)
        members.splice(members.indexOf(victim), 1)
        this.#cut(victim, 'memory')
      }
    }
    this.#addedBytes = 0
  }

  #cut({ req, res, requester, bodyBytes }: OpenRequest, reason: CutReason): void {
    this.#open.delete(res)
    this.#onCut(reason)
    const { keyId: key } = requester
    this.#log.info(
      { reason, bytes: bodyBytes, ...(key !== undefined && { key }) },
      'connection cut',
    )
    req.socket.destroy()
  }
}

const rankOf = ({ requester: { keyId, charged = 0n } }: OpenRequest): Rank =>
  charged > 0n ? 'paying' : keyId === undefined ? 'keyless' : 'keyed'

/** Memory that the connection holds: its request until it is complete, and its unread response. */
const heldBytes = ({ req, res, uploadBytes, bodyBytes }: OpenRequest): number =>
  (req.complete ? 0 : uploadBytes) + Math.max(bodyBytes, res.writableLength)

const sumOf = (members: readonly OpenRequest[]): number =>
  members.reduce((sum, open) => sum + heldBytes(open), 0)

function slowestOfLargestHolder(
  members: readonly OpenRequest[],
  now: number,
): OpenRequest | undefined {
  const groups = Map.groupBy(
    members.filter((open) => heldBytes(open) > 0),
    holderOf,
  )
  const [largest = []] = [...groups.values()].toSorted((a, b) => sumOf(b) - sumOf(a))
  const slownessOf = (open: OpenRequest): number => now - open.progressAt + open.behindMs
  return largest.toSorted((a, b) => slownessOf(b) - slownessOf(a))[0]
}

const holderOf = ({ req, requester }: OpenRequest): string =>
  requester.keyId ?? networkPrefix(req.socket.remoteAddress ?? '')

/** Length of a request body that is still to come; without a declared length, the maximum. */
function declaredLength({ headers, complete }: IncomingMessage): number {
  if (complete) return 0
  if (headers['transfer-encoding'] !== undefined) return BODY_BYTES_MAX
  return Math.min(Number(headers['content-length'] ?? 0) || 0, BODY_BYTES_MAX)
}
