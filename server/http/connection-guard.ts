import type { IncomingMessage, ServerResponse } from 'node:http'
import { elapsedMs } from '../../core/clock.ts'
import { LinkedList, type ListEntry } from '../../core/linked-list.ts'
import type { Log } from '../../core/log.ts'
import { networkPrefix } from '../../core/usage/network.ts'
import { BODY_BYTES_MAX } from './body.ts'

/** Limits of the memory and time that a process spends on slow connections. */
export interface ConnectionLimits {
  /** Memory for bodies of requests and responses, over the process. */
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

const CONNECTION_LIMITS: ConnectionLimits = {
  budgetBytes: 256 * 1_048_576,
  bytesPerSecond: 16_384,
  graceMs: 30_000,
  wholeMs: 600_000,
  sweepMs: 1_000,
}

/** Identity of a request, completed while it is handled. */
export interface Requester {
  readonly keyId?: string | undefined
  readonly principal?: string | undefined
  /** Microdollars reserved for the request until it is charged. */
  readonly reserved?: bigint | undefined
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
  /** Declared length of the request body; undefined if it is chunked. */
  readonly declaredBytes: number | undefined
  /** Bytes that the connection had received when the request began. */
  readonly receivedBefore: number
  /** Length of the complete response body, made or expected; 0 for streams. */
  bodyBytes: number
  /** Time at which the complete body was sent; undefined before. */
  sentAt: number | undefined
  /** Bytes that the client had taken and sent at the last check. */
  taken: number
  received: number
  progressAt: number
  /** Milliseconds that the client is behind the minimum rate. */
  behindMs: number
}

/** Property of a response: its place among the open requests. */
const ENTRY = Symbol('entry of ConnectionGuard')
type GuardedResponse = ServerResponse & { [ENTRY]?: ListEntry<OpenRequest> }

/**
 * Cuts the connections of clients that do not read their responses or send their requests in time,
 * or whose bodies exceed their part of the memory budget: callers without a key before others,
 * then those who paid nothing; within a rank, the largest holder's slowest connection. A request
 * body counts until the response is complete, a response body from when it is made or expected.
 */
export class ConnectionGuard {
  readonly #limits: ConnectionLimits
  readonly #log: Log
  readonly #onCut: (reason: CutReason) => void
  readonly #open = new LinkedList<OpenRequest>()
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
  watch(req: IncomingMessage, res: GuardedResponse, requester: Requester): void {
    const now = elapsedMs()
    const { socket } = req
    const received = socket.bytesRead
    const declaredBytes = declaredLength(req)
    res[ENTRY] = this.#open.add({
      req,
      res,
      requester,
      declaredBytes,
      receivedBefore: received,
      bodyBytes: 0,
      sentAt: undefined,
      taken: socket.bytesWritten - socket.writableLength,
      received,
      progressAt: now,
      behindMs: 0,
    })
    if (declaredBytes !== undefined && declaredBytes > 0) this.#add(declaredBytes)
    if (this.#timer) return
    this.#sweptAt = now
    this.#timer = setInterval(() => this.sweep(), this.#limits.sweepMs).unref()
  }

  /** Ends the watch of a response. */
  forget({ [ENTRY]: entry }: GuardedResponse): void {
    if (entry) this.#open.remove(entry)
    if (this.#open.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#addedBytes = 0
  }

  /**
   * Counts a body that is being made, or expected, instead of what was counted for it before. Makes
   * room by cutting less deserving connections and those of larger holders.
   * @returns false if there is no room: nothing is counted
   */
  reserve(res: GuardedResponse, bytes: number): boolean {
    const open = openRequestOf(res)
    if (!open) return true // disconnected
    const isGrowing = bytes > open.bodyBytes
    open.bodyBytes = bytes
    return !isGrowing || this.#makeRoom(elapsedMs(), open)
  }

  /** Counts a complete body that is about to be written, and makes room for it. */
  admit(res: GuardedResponse, bytes: number): void {
    const open = openRequestOf(res)
    if (!open) return
    const addedBytes = bytes - open.bodyBytes
    open.bodyBytes = bytes
    open.sentAt = elapsedMs()
    if (addedBytes > 0) this.#add(addedBytes)
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
    this.#makeRoom(now)
  }

  #add(bytes: number): void {
    this.#addedBytes += bytes
    if (this.#addedBytes > this.#limits.budgetBytes * SLACK) this.#makeRoom(elapsedMs())
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
    if (open.sentAt !== undefined && now - open.sentAt > wholeMs) return 'deadline'
    return undefined
  }

  /**
   * Cuts connections until all ranks are within their shares.
   * @returns false if the newcomer would be cut: its body is no longer counted instead
   */
  #makeRoom(now: number, newcomer?: OpenRequest): boolean {
    const members = Map.groupBy(this.#open.values(), rankOf)
    const candidates: OpenRequest[][] = []
    let hasRoom = true
    let total = 0
    for (const rank of RANKS) {
      const ranked = members.get(rank) ?? []
      candidates.push(ranked)
      total += sumOf(ranked)
      while (total > this.#limits.budgetBytes * SHARES[rank]) {
        const group = candidates.find((each) => each.some(isLarge))
        const victim = group && chooseVictim(group.filter(isLarge), now, newcomer)
        if (!victim) break
        total -= heldBytes(victim)
        if (victim === newcomer && victim.bodyBytes > 0) {
          victim.bodyBytes = 0
          total += heldBytes(victim)
          hasRoom = false
        } else {
          group.splice(group.indexOf(victim), 1)
          this.#cut(victim, 'memory')
        }
      }
    }
    this.#addedBytes = 0
    return hasRoom
  }

  #cut({ req, res, requester, bodyBytes }: OpenRequest, reason: CutReason): void {
    this.forget(res)
    this.#onCut(reason)
    const { keyId: key } = requester
    this.#log.info(
      { reason, bytes: bodyBytes, ...(key !== undefined && { key }) },
      'connection cut',
    )
    req.socket.destroy()
  }
}

const openRequestOf = ({ [ENTRY]: entry }: GuardedResponse): OpenRequest | undefined =>
  entry?.isListed ? entry.value : undefined

const rankOf = ({ requester }: OpenRequest): Rank => {
  const { keyId, reserved = 0n, charged = reserved } = requester
  return charged > 0n ? 'paying' : keyId === undefined ? 'keyless' : 'keyed'
}

/** Memory that a request holds. */
const heldBytes = (open: OpenRequest): number =>
  uploadedBytes(open) + Math.max(open.bodyBytes, open.res.writableLength)

/** Length of the request body: as declared, or as received until now. */
function uploadedBytes({ req, declaredBytes, receivedBefore }: OpenRequest): number {
  if (declaredBytes !== undefined) return declaredBytes
  return Math.min(FIRST_READ_BYTES + req.socket.bytesRead - receivedBefore, BODY_BYTES_MAX)
}

/** Part of a body that may have been received together with its head. */
const FIRST_READ_BYTES = 65_536

const sumOf = (members: readonly OpenRequest[]): number =>
  members.reduce((sum, open) => sum + heldBytes(open), 0)

/** Smaller holders are not cut: it would give back nothing. */
const VICTIM_BYTES_MIN = 16_384
const isLarge = (open: OpenRequest): boolean => heldBytes(open) >= VICTIM_BYTES_MIN

/** Chooses the newcomer if no holder has more, else the largest holder's slowest connection. */
function chooseVictim(
  members: readonly OpenRequest[],
  now: number,
  newcomer: OpenRequest | undefined,
): OpenRequest | undefined {
  const groups = Map.groupBy(members, holderOf)
  const [largest = []] = [...groups.values()].toSorted((a, b) => sumOf(b) - sumOf(a))
  const own = newcomer && groups.get(holderOf(newcomer))
  if (own?.includes(newcomer!) && sumOf(own) >= sumOf(largest)) return newcomer
  const slownessOf = (open: OpenRequest): number => now - open.progressAt + open.behindMs
  return largest.toSorted((a, b) => slownessOf(b) - slownessOf(a))[0]
}

const holderOf = ({ req, requester }: OpenRequest): string =>
  requester.principal ?? requester.keyId ?? networkPrefix(req.socket.remoteAddress ?? '')

/** Length of a request body by its header; undefined for a chunked one. */
function declaredLength({ headers }: IncomingMessage): number | undefined {
  if (headers['transfer-encoding'] !== undefined) return undefined
  return Math.min(Number(headers['content-length'] ?? 0) || 0, BODY_BYTES_MAX)
}
