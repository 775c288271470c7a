import { fund } from '../../server/sandbox/wallets.ts'
import { type BuyerWallet, createBuyerWallet } from './buyer-payments.ts'
import { fundedFacilitator } from './foreign-facilitator.ts'
import type { HubEnvironment } from './hub-environment.ts'
import { KeyedBuyer } from './keyed-buyer.ts'
import { KeylessBuyer } from './keyless-buyer.ts'
import type { Market } from './market.ts'
import type { Random } from './random.ts'
import type { RequestRecorder } from './request-recorder.ts'

/** All buyers of a run. */
export interface Buyers {
  readonly keyed: readonly KeyedBuyer[]
  readonly keyless: readonly KeylessBuyer[]
  /** Wallets of all buyers. */
  readonly buyerWallets: readonly BuyerWallet[]
}

interface BuyersDeps {
  readonly keyed: number
  readonly keyless: number
  /** Wallets per buyer without an API key. */
  readonly walletsPerBuyer: number
  readonly random: Random
  readonly environment: HubEnvironment
  readonly market: Market
  readonly recorder: RequestRecorder
}

const KEYED_MICROS = 5_000_000_000n
const KEYLESS_MICROS = 1_000_000n
/** Price of one call of the service that overdrawn wallets call. */
const SINGLE_CALL_MICROS = 1_000n

const times = <T>(count: number, make: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => make(n))

/** Creates and funds all buyers and registers those with an API key. */
export async function createBuyers(deps: BuyersDeps): Promise<Buyers> {
  const { random, environment, market, recorder } = deps
  const { url, rpcUrl } = environment
  const keyedWallets = times(deps.keyed, (n) =>
    createBuyerWallet(random.fork(`keyed ${n}`), KEYED_MICROS),
  )
  const keylessWallets = times(deps.keyless, (n) => {
    const createWallets = (name: string, funded: bigint) =>
      times(deps.walletsPerBuyer, (m) =>
        createBuyerWallet(random.fork(`${name} ${n} ${m}`), funded),
      )
    return {
      regular: createWallets('keyless', KEYLESS_MICROS),
      singleCall: createWallets('single call', SINGLE_CALL_MICROS),
    }
  })
  const buyerWallets = [
    ...keyedWallets,
    ...keylessWallets.flatMap(({ regular, singleCall }) => [...regular, ...singleCall]),
  ]
  await fundWallets(rpcUrl, buyerWallets)
  const facilitator = await fundedFacilitator(rpcUrl)
  const keyless = keylessWallets.map(
    ({ regular, singleCall }, n) =>
      new KeylessBuyer({
        url,
        rpcUrl,
        recorder,
        random: random.fork(`keyless buyer ${n}`),
        buyerWallets: regular,
        singleCallWallets: singleCall,
        ip: (m) => `10.${n + 1}.${m}.1`,
        facilitator,
      }),
  )
  const keyed = await Promise.all(
    keyedWallets.map((buyerWallet, n) =>
      KeyedBuyer.register({
        url,
        recorder,
        market,
        random: random.fork(`keyed buyer ${n}`),
        buyerWallet,
        ip: `10.0.${n}.1`,
      }),
    ),
  )
  return { keyed, keyless, buyerWallets }
}

/** Sequential, because one account sends all mint transactions. */
async function fundWallets(rpcUrl: string, buyerWallets: readonly BuyerWallet[]): Promise<void> {
  for (const { account, funded } of buyerWallets)
    await fund(rpcUrl, account.address, { usdc: funded })
}
