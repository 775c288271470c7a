import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import type { Hex } from '../../../core/payments/chain/asset.ts'
import { fundedFacilitator } from '../../conservation/foreign-facilitator.ts'
import { type SellerAct, startMppSeller } from '../../stories/mpp-seller.ts'
import { startUptoSeller } from '../../stories/upto-seller.ts'

/** Behaviors of the sellers that take MPP alone; each has a host of its own. */
export const MPP_ACTS = [
  'sell',
  'take-and-fail',
  'no-receipt',
  'forge-receipt',
] as const satisfies readonly SellerAct[]
const UPTO_HOST = 'upto.test'
const UPTO_MAX = 10_000n

/** Sellers that are paid otherwise than by x402 with a fixed price. */
export interface RailSellers {
  readonly hosts: ReadonlyMap<string, number>
  readonly wallets: readonly Hex[]
  readonly close: () => Promise<void>
}

const hostOf = (act: SellerAct): string => `mpp-${act}.test`

/** Order of a seller that takes MPP. */
export const mppOrder = (act: SellerAct, n: number) => ({
  url: `http://${hostOf(act)}/work`,
  method: 'POST',
  body: { n },
})

/** Order of a seller with a metered price, which takes a part of its maximum. */
export const uptoOrder = (n: number, fails: boolean) => ({
  url: `http://${UPTO_HOST}/work`,
  method: 'POST',
  body: { usage: 1 + ((n * 37) % Number(UPTO_MAX)), ...(fails && { fail: true }) },
})

/** Starts unmodified servers of mppx, and one of `@x402/express` with the scheme `upto`. */
export async function startRailSellers(rpcUrl: string): Promise<RailSellers> {
  const facilitator = await fundedFacilitator(rpcUrl)
  const wallet = (): Hex => privateKeyToAddress(generatePrivateKey())
  const byMpp = await Promise.all(
    MPP_ACTS.map(async (act) => {
      const recipient = wallet()
      const seller = await startMppSeller(() => facilitator, { recipient, amount: '0.004' })
      seller.act = act
      return { host: hostOf(act), recipient, seller }
    }),
  )
  const payTo = wallet()
  const upto = await startUptoSeller({ payTo, max: UPTO_MAX })
  await upto.open(rpcUrl)
  return {
    hosts: new Map([
      ...byMpp.map(({ host, seller }) => [host, seller.port] as const),
      [UPTO_HOST, upto.port],
    ]),
    wallets: [payTo, ...byMpp.map(({ recipient }) => recipient)].map(
      (each) => each.toLowerCase() as Hex,
    ),
    close: async () => {
      await Promise.all([upto.close(), ...byMpp.map(({ seller }) => seller.close())])
    },
  }
}
