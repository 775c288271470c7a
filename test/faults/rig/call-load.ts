import { HubClient, HubError } from '../../../core/client/index.ts'
import { sleep } from '../../../core/clock.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { postCredits, registerWallet } from '../../support/funded-agent.ts'
import type { HubProcess } from './hub.ts'

/** Agent with an API key and credits. */
export interface FundedAgent {
  readonly keyId: string
  readonly apiKey: string
}

export const CREDITS = 20_000_000n
/** Price of a call of the `slow` service, in microdollars. */
export const PRICE = 1_000n
const RETRY_MS = 100

/** Registers agents through the hub's API and gives each credits. */
export async function createFundedAgents(
  count: number,
  hub: HubProcess,
  ledger: Ledger,
): Promise<FundedAgent[]> {
  const made: FundedAgent[] = []
  for (let i = 0; i < count; i++) {
    const { keyId, apiKey } = await registerWallet(hub.url)
    await postCredits(ledger, keyId, CREDITS)
    made.push({ keyId, apiKey })
  }
  return made
}

/** Concurrent callers of a hub, with the responses they received. */
export class CallLoad {
  /** Charges of calls with status 200, by call id. */
  readonly charged = new Map<string, bigint>()
  /** Number of problem responses by code. */
  readonly problems = new Map<string, number>()
  /** Number of requests without a response. */
  lost = 0
  /** Responses that must never occur. */
  readonly errors: string[] = []
  #hasEnded = false
  readonly #callers: readonly Promise<void>[]

  constructor(hub: HubProcess, createFundedAgents: readonly FundedAgent[], callersEach: number) {
    const all = createFundedAgents.flatMap((agent) =>
      Array.from({ length: callersEach }, () => agent),
    )
    this.#callers = all.map(({ apiKey }) => this.#shop(hub, apiKey))
  }

  /** Stops the callers after their current calls. */
  async finish(): Promise<void> {
    this.#hasEnded = true
    await Promise.all(this.#callers)
  }

  async #shop(hub: HubProcess, apiKey: string): Promise<void> {
    for (let n = 0; !this.#hasEnded; n++) {
      try {
        const client = new HubClient({ baseUrl: hub.url, apiKey, timeoutMs: 60_000 })
        const { callId = '', charged } = await client.call('slow', '/work', { n })
        if (charged !== PRICE) this.errors.push(`${callId} charged ${charged}`)
        if (this.charged.has(callId)) this.errors.push(`${callId} answered twice`)
        this.charged.set(callId, charged)
      } catch (error) {
        if (error instanceof HubError) {
          this.problems.set(error.code, (this.problems.get(error.code) ?? 0) + 1)
        } else this.lost++
        await sleep(RETRY_MS)
      }
    }
  }
}
