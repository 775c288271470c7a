import type { RenderParties } from '../plugin/parts.ts'
import { RenderError } from '../plugin/render-error.ts'
import { ttlCache } from '../runtime/cache.ts'

/** Maximum number of waiting renders per slot. */
const WAITING_MAX_PER_SLOT = 8
/** Timeouts in a row after which a payer or site gets one slot until a page of it ends in time. */
const TIMEOUTS_MAX = 2
const TIMEOUTS_KEPT_MS = 600_000
const TIMEOUTS_KEPT_COUNT = 10_000

/** One render: it waits, then occupies a slot, then ends. */
export interface Ticket {
  readonly parties: RenderParties
  /** Starts the render. */
  readonly start: () => void
  readonly refuse: (error: RenderError) => void
}

/**
 * Fair queue for a fixed number of slots.
 *
 * The last quarter of the slots serves only paid renders of payers and sites without an open page,
 * and unpaid renders and slow parties together occupy at most half, so that slow pages of one party
 * never stop those of others. Paid renders start first; among them the party with the fewest open
 * pages, then the oldest. If the queue is full, the least deserving render is refused: unpaid ones
 * first, then those of the party with the most waiting.
 */
export class SlotQueue {
  readonly #slots: number
  readonly #waiting: Ticket[] = []
  readonly #running = new Set<Ticket>()
  /** Timeouts in a row by party. */
  readonly #timeouts = ttlCache<string, number>({
    ttlMs: TIMEOUTS_KEPT_MS,
    max: TIMEOUTS_KEPT_COUNT,
  })

  constructor(slots: number) {
    this.#slots = slots
  }

  /** Number of waiting renders. */
  get length(): number {
    return this.#waiting.length
  }

  /** Adds a render; if the queue is full, refuses the least deserving one, possibly this one. */
  add(ticket: Ticket): void {
    this.#waiting.push(ticket)
    if (this.#waiting.length <= this.#slots * WAITING_MAX_PER_SLOT) return
    const refused = this.#waiting.reduce((worst, each) =>
      this.#compareWaiting(worst, each) <= 0 ? each : worst,
    )
    this.remove(refused)
    refused.refuse(new RenderError('render_unavailable', 'too many renders wait'))
  }

  /** Removes a render that no longer waits for a slot, or has finished. */
  remove(ticket: Ticket): void {
    this.#running.delete(ticket)
    const index = this.#waiting.indexOf(ticket)
    if (index >= 0) this.#waiting.splice(index, 1)
  }

  /** Moves the next render from the queue to a slot; undefined if none may start now. */
  take(): Ticket | undefined {
    const [next] = this.#waiting
      .filter(({ parties }) => this.#mayStart(parties))
      .toSorted((a, b) => this.#compareStart(a, b))
    if (!next) return undefined
    this.remove(next)
    this.#running.add(next)
    return next
  }

  /** Removes and refuses all waiting renders. */
  refuseAll(cause?: unknown): void {
    for (const { refuse } of this.#waiting.splice(0))
      refuse(new RenderError('render_unavailable', cause))
  }

  /** Records if a page used up its time, for all parties of the render. */
  record({ parties }: Ticket, timedOut: boolean): void {
    for (const party of namesOf(parties)) {
      if (timedOut) this.#timeouts.set(party, (this.#timeouts.get(party) ?? 0) + 1)
      else this.#timeouts.delete(party)
    }
  }

  #mayStart(parties: RenderParties): boolean {
    const openPages = this.#mostOpenPages(parties)
    const reserve = Math.floor(this.#slots / 4)
    if (this.#running.size >= this.#slots - reserve && (!parties.paid || openPages > 0))
      return false
    if (this.#isSlow(parties) && openPages > 0) return false
    const isDeferred = (each: RenderParties): boolean => !each.paid || this.#isSlow(each)
    return (
      !isDeferred(parties) || this.#count(isDeferred) < Math.max(1, Math.floor(this.#slots / 2))
    )
  }

  #isSlow(parties: RenderParties): boolean {
    return namesOf(parties).some((name) => (this.#timeouts.get(name) ?? 0) >= TIMEOUTS_MAX)
  }

  #compareStart(a: Ticket, b: Ticket): number {
    return byPaid(a, b) || this.#mostOpenPages(a.parties) - this.#mostOpenPages(b.parties)
  }

  /** Orders renders from the most to the least deserving place in the queue. */
  #compareWaiting(a: Ticket, b: Ticket): number {
    return byPaid(a, b) || this.#mostWaiting(a) - this.#mostWaiting(b)
  }

  #mostOpenPages(parties: RenderParties): number {
    return Math.max(0, ...namesOf(parties).map((name) => this.#openPages(name)))
  }

  #mostWaiting({ parties }: Ticket): number {
    const waitingOf = (name: string): number =>
      this.#waiting.filter((each) => namesOf(each.parties).includes(name)).length
    return Math.max(0, ...namesOf(parties).map(waitingOf))
  }

  #openPages(name: string): number {
    return this.#count((parties) => namesOf(parties).includes(name))
  }

  #count(matches: (parties: RenderParties) => boolean): number {
    return [...this.#running].filter(({ parties }) => matches(parties)).length
  }
}

/** Names of a payer and a site never coincide. */
const namesOf = ({ payer, site }: RenderParties): readonly string[] => [
  ...(payer === undefined ? [] : [`payer ${payer}`]),
  ...(site === undefined ? [] : [`site ${site}`]),
]

const byPaid = (a: Ticket, b: Ticket): number => Number(b.parties.paid) - Number(a.parties.paid)
