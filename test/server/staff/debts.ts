import { monthStart, systemClock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../core/ids.ts'
import type { TestHub } from '../../support/hub.ts'

const RECEIVABLE = 'assets:receivable:providers'
const OPENING = 'equity:opening'

/** Makes a provider owe an amount, and earn another one. In microdollars. */
export async function createDebt(
  { hub: { ledger } }: TestHub,
  provider: string,
  debt: bigint,
  earned: bigint,
): Promise<string> {
  const earnings = `liabilities:providers:${provider}:api`
  await ledger.open(earnings, 'USDC')
  const owner = await ledger.account(OPENING)
  const meta = { author: 'a test', reason: 'a test', provider }
  const post = async (debit: string, credit: string, amount: bigint) => {
    const event = { type: 'balance.adjusted', asset: 'USDC', debit, credit, amount } as const
    await ledger.post(event, { owner, id: uuidv7(systemClock.now().getTime()), meta })
  }
  await post(RECEIVABLE, OPENING, debt)
  if (earned > 0n) await post(OPENING, earnings, earned)
  return provider
}

/** Creates a wallet whose only key was revoked with credits. @returns the id of the key */
export async function createUnusableKey(hub: TestHub, credits: bigint): Promise<string> {
  const { keyId } = await hub.agent()
  await hub.credit(keyId, credits)
  await hub.hub.pool.query('UPDATE hub.api_key SET revoked_at = now() WHERE id = $1', [keyId])
  return keyId
}

/** Opens ETH for gas in the month before. */
export async function createEth({ hub: { ledger } }: TestHub, gwei: bigint): Promise<void> {
  const effectiveAt = monthStart(systemClock.now(), -1)
  const owner = await ledger.account('assets:eth:base:gas')
  const opened = { account: owner.code, amount: gwei, asset: 'GWEI' } as const
  const entry = { owner, id: uuidv7(effectiveAt.getTime()), effectiveAt }
  await ledger.post({ type: 'balance.opened', ...opened }, entry)
}
