import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { HubClient, HubError } from '../../../core/client/index.ts'
import { sleep, systemClock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../core/ids.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { creditsOf } from '../../../core/ledger/postings.ts'
import { micros } from '../../../core/money.ts'
import type { HubProcess } from './hub.ts'

/** An agent with a key and credits. */
export interface Shopper {
  readonly keyId: string
  readonly apiKey: string
}

export const CREDITS = 20_000_000n
/** What a call of the `slow` service costs, in microdollars. */
export const PRICE = 1_000n
const AGAIN_MS = 100

/** Registers agents at the hub's door, and gives each credits. */
export async function shoppers(count: number, hub: HubProcess, books: Ledger): Promise<Shopper[]> {
  const made: Shopper[] = []
  for (let i = 0; i < count; i++) {
    const wallet = { account: privateKeyToAccount(generatePrivateKey()), sandbox: true }
    const { keyId, apiKey } = await new HubClient({ baseUrl: hub.url, wallet }).register()
    const owner = await books.account(creditsOf(keyId))
    const amount = micros(CREDITS)
    const id = uuidv7(systemClock.now().getTime())
    await books.post({ type: 'credits.purchased', credits: owner.code, amount }, { owner, id })
    made.push({ keyId, apiKey })
  }
  return made
}

/** What callers were told at the door. */
export class Shopping {
  /** Charges of calls that were answered with 200, by call id. */
  readonly charged = new Map<string, bigint>()
  /** Answers that were problems, by their code. */
  readonly problems = new Map<string, number>()
  /** Requests without an answer. */
  lost = 0
  /** Answers that should not have been. */
  readonly faults: string[] = []
  #over = false
  readonly #callers: readonly Promise<void>[]

  constructor(hub: HubProcess, shoppers: readonly Shopper[], callersEach: number) {
    const all = shoppers.flatMap((shopper) => Array.from({ length: callersEach }, () => shopper))
    this.#callers = all.map(({ apiKey }) => this.#shop(hub, apiKey))
  }

  /** Ends it; calls that were made are answered first. */
  async finish(): Promise<void> {
    this.#over = true
    await Promise.all(this.#callers)
  }

  async #shop(hub: HubProcess, apiKey: string): Promise<void> {
    for (let n = 0; !this.#over; n++) {
      try {
        const client = new HubClient({ baseUrl: hub.url, apiKey, timeoutMs: 60_000 })
        const { callId = '', charged } = await client.call('slow', '/work', { n })
        if (charged !== PRICE) this.faults.push(`${callId} charged ${charged}`)
        if (this.charged.has(callId)) this.faults.push(`${callId} answered twice`)
        this.charged.set(callId, charged)
      } catch (error) {
        if (error instanceof HubError) {
          this.problems.set(error.code, (this.problems.get(error.code) ?? 0) + 1)
        } else this.lost++
        await sleep(AGAIN_MS)
      }
    }
  }
}
