import { fund } from '../../server/sandbox/wallets.ts'
import { Keyed } from './keyed.ts'
import { Keyless } from './keyless.ts'
import type { Market } from './market.ts'
import type { Desk } from './operators.ts'
import { type Purse, purseOf } from './payers.ts'
import type { Random } from './random.ts'
import { stranger } from './service.ts'
import type { Venue } from './venue.ts'

/** All who buy. */
export interface Crowd {
  readonly keyed: readonly Keyed[]
  readonly keyless: readonly Keyless[]
  /** All of their wallets. */
  readonly purses: readonly Purse[]
}

interface Ports {
  readonly keyed: number
  readonly keyless: number
  /** Wallets of each buyer without a key. */
  readonly purses: number
  readonly random: Random
  readonly venue: Venue
  readonly market: Market
  readonly desk: Desk
}

const KEYED_MICROS = 5_000_000_000n
const KEYLESS_MICROS = 1_000_000n
/** What one call of the service costs that the overdrawn call. */
const TIGHT_MICROS = 1_000n

const many = <T>(count: number, make: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => make(n))

/** Makes all buyers, gives them money, and lets those register who want a key. */
export async function gather(ports: Ports): Promise<Crowd> {
  const { random, venue, market, desk } = ports
  const { url, rpcUrl } = venue
  const keyedPurses = many(ports.keyed, (n) => purseOf(random.of(`keyed ${n}`), KEYED_MICROS))
  const parties = many(ports.keyless, (n) => {
    const of = (name: string, funded: bigint) =>
      many(ports.purses, (m) => purseOf(random.of(`${name} ${n} ${m}`), funded))
    return { own: of('keyless', KEYLESS_MICROS), tight: of('tight', TIGHT_MICROS) }
  })
  const purses = [...keyedPurses, ...parties.flatMap(({ own, tight }) => [...own, ...tight])]
  await endow(rpcUrl, purses)
  const meddler = await stranger(rpcUrl)
  const keyless = parties.map(
    ({ own, tight }, n) =>
      new Keyless({
        url,
        rpcUrl,
        desk,
        random: random.of(`keyless buyer ${n}`),
        purses: own,
        tight: [...tight],
        ip: (m) => `10.${n + 1}.${m}.1`,
        stranger: meddler,
      }),
  )
  const keyed = await Promise.all(
    keyedPurses.map((purse, n) =>
      Keyed.enter({
        url,
        desk,
        market,
        random: random.of(`keyed buyer ${n}`),
        purse,
        ip: `10.0.${n}.1`,
      }),
    ),
  )
  return { keyed, keyless, purses }
}

/** One after the other: they are minted by transactions of one sender. */
async function endow(rpcUrl: string, purses: readonly Purse[]): Promise<void> {
  for (const { account, funded } of purses) await fund(rpcUrl, account.address, { usdc: funded })
}
