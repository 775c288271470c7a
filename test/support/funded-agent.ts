import type { LocalAccount } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { HubClient } from '../../core/client/index.ts'
import { systemClock } from '../../core/clock.ts'
import { uuidv7 } from '../../core/ids.ts'
import type { Ledger } from '../../core/ledger/ledger.ts'
import { creditsOf } from '../../core/ledger/postings.ts'
import { micros } from '../../core/money.ts'

/** Registers a wallet with a sandbox. */
export const registerWallet = (
  baseUrl: string,
  account: LocalAccount = privateKeyToAccount(generatePrivateKey()),
): ReturnType<HubClient['register']> =>
  new HubClient({ baseUrl, wallet: { account, sandbox: true } }).register()

/** Posts credits for a key as if bought, without the chain. */
export async function postCredits(ledger: Ledger, keyId: string, amount: bigint): Promise<void> {
  const owner = await ledger.account(creditsOf(keyId))
  const event = { type: 'credits.purchased', credits: owner.code, amount: micros(amount) } as const
  await ledger.post(event, { owner, id: uuidv7(systemClock.now().getTime()) })
}
