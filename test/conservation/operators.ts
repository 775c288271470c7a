import { elapsedMs, sleep, unrefSleep } from '../../core/clock.ts'
import type { Hex } from '../../core/payments/chain/asset.ts'
import { ask, type Told } from '../support/ask.ts'
import { ACTS, type Act } from './acts.ts'
import type { Tally } from './tally.ts'

/** A request for something that costs. */
export interface Want {
  readonly path: string
  readonly body: object
  readonly key?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  /** Where it comes from. */
  readonly ip: string
}

/**
 * What the buyer of a call was told about its credits; `open`: it is not known yet; `repeated`: the
 * answer of a call before, which was charged for itself.
 */
export interface Charge {
  /** The id of the key. */
  readonly key: string
  readonly call: string | undefined
  readonly charged: bigint
  readonly state: 'told' | 'open' | 'lost' | 'repeated'
}

/** A payment of x402 that a buyer has sent, and what it was told each time. */
export interface Sent {
  readonly payer: Hex
  readonly nonce: Hex
  readonly amount: bigint
  /** What the facilitator is to do with it. */
  readonly act: Act
  readonly payment: string
  readonly wants: Want[]
  readonly answers: { readonly status: number; readonly charged: bigint }[]
}

/** The longest that a hub may leave a request without an answer. */
const ANSWER_MS = 130_000
const AGAIN_MS = 200
/** Longer than any start of a hub. */
const START_MS = 300_000
export const PURCHASE = '/v1/credits/purchase'
const CALLS = 'payments for calls'
const CREDITS = 'payments for credits'

/** Where all buyers ask; keeps what they were told. */
export class Desk {
  readonly charges: Charge[] = []
  readonly sent: Sent[] = []
  /** Answers that should never be. */
  readonly faults: string[] = []
  readonly #url: () => string
  readonly #tally: Tally
  #closed = false

  constructor(url: () => string, tally: Tally) {
    this.#url = url
    this.#tally = tally
    tally.expect(CALLS, ACTS)
    tally.expect(CREDITS, ACTS)
  }

  /** Nobody asks any more. */
  close(): void {
    this.#closed = true
  }

  /** Undefined: no answer came. */
  async ask(want: Want, more: Readonly<Record<string, string>> = {}): Promise<Told | undefined> {
    const { path, body, key, ip } = want
    const headers = { ...want.headers, ...more, 'x-forwarded-for': ip }
    const send = () => ask(this.#url(), path, { body, key, headers })
    const told = await Promise.race([
      this.#whenThere(send).catch(() => undefined),
      unrefSleep(ANSWER_MS).then(() => 'late' as const),
    ])
    if (told === 'late') this.faults.push(`no answer within ${ANSWER_MS} ms: ${path}`)
    if (told === undefined || told === 'late') {
      this.#tally.add('answers', 'none')
      return undefined
    }
    const { code, state, request_id: id } = told.body
    const name = [code, told.status < 300 ? state : ''].find((each) => typeof each === 'string')
    this.#tally.add('answers', `${told.status} ${name}`.trim())
    if (code === 'internal_error') this.faults.push(`internal_error at ${path}, ${String(id)}`)
    return told
  }

  /** A hub that is being started refuses connections: nothing was sent, and it is tried again. */
  async #whenThere<T>(send: () => Promise<T>): Promise<T> {
    for (const deadline = elapsedMs() + START_MS; ; ) {
      if (elapsedMs() > deadline) throw new Error('the hub did not start in time')
      if (this.#closed) throw new Error('it is over')
      try {
        return await send()
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED') throw error
        await sleep(AGAIN_MS)
      }
    }
  }

  /** A call that credits pay. */
  async call(keyId: string, want: Want): Promise<Told | undefined> {
    const told = await this.ask(want)
    this.charges.push({ key: keyId, ...chargeOf(told) })
    return told
  }

  /** Sends a payment; the same one may be sent again, and for something else. */
  async pay(sent: Sent, want: Want): Promise<Told | undefined> {
    if (sent.wants.length === 0) {
      this.sent.push(sent)
      this.#tally.add(want.path === PURCHASE ? CREDITS : CALLS, sent.act)
    }
    if (!sent.wants.includes(want)) sent.wants.push(want)
    const told = await this.ask(want, { 'payment-signature': sent.payment })
    if (told) sent.answers.push({ status: told.status, charged: chargedOf(told) })
    return told
  }
}

const chargedOf = ({ headers }: Told): bigint =>
  BigInt(String(headers['x-charged-microdollars'] ?? 0))

function chargeOf(told: Told | undefined): Omit<Charge, 'key'> {
  if (!told) return { call: undefined, charged: 0n, state: 'lost' }
  const call = told.headers['x-call-id']
  const { payment } = told.body as { readonly payment?: { readonly state?: unknown } }
  const isOpen = payment?.state === 'unresolved' || told.body['code'] === 'service_unavailable'
  const isRepeated = told.headers['idempotency-replayed'] === 'true'
  return {
    call: typeof call === 'string' ? call : undefined,
    charged: chargedOf(told),
    state: isRepeated ? 'repeated' : isOpen ? 'open' : 'told',
  }
}
