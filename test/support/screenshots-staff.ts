import { reconcile } from '../../core/reconciliation/reconcile.ts'
import { ADMIN_TABS, FINANCE_TABS } from '../../server/web/navigation.ts'
import { buyWeather, type createAdmin } from '../server/rest/finance/fixture.ts'
import { sendUsdc } from '../server/rest/finance/platform-wallets.ts'
import { createStaff, dataOf } from '../server/staff/fixture.ts'
import type { openAccount } from '../server/web/account-fixture.ts'
import { createWaitingPayout } from '../server/web/waiting-payouts.ts'
import type { TestHub } from './hub.ts'

/** Administrator with data on every page of finance and administration. */
export async function openStaff(
  hub: TestHub,
  admin: ReturnType<typeof createAdmin>,
  account: Awaited<ReturnType<typeof openAccount>>,
) {
  const staff = await createStaff(hub, admin, 'ann@house.example', 'admin')
  const post = async (path: string, body: object) => {
    const response = await staff.ask(`/v1/finance/${path}`, { body })
    if (response.status >= 300) throw new Error(`${path}: ${response.text}`)
  }
  const { chain, treasury, spend, finality } = hub.sandbox!.money
  const wallets = { treasury, spend: spend.address }
  const runReconciliation = () => reconcile({ pool: hub.hub.pool, chain, finality, wallets })
  await runReconciliation()
  const posted = await sendUsdc(hub, spend.address, treasury, 1_250_000n)
  await post('transfers', { transaction: posted, reason: 'Excess balance of the spend wallet.' })
  const open = await sendUsdc(hub, spend.address, treasury, 4_000_000n)
  await runReconciliation()
  const agent = await hub.agent()
  await hub.credit(agent.keyId, 5_000_000n)
  await buyWeather(hub, agent.apiKey)
  await createWaitingPayout(hub, 'p-large')
  await post('exports', { format: 'csv', reason: 'year end' })
  const correction = { debit: 'expenses:free-tier', credit: 'equity:opening' }
  const reason = 'Free credits were not posted.'
  await post('adjustments', { ...correction, amount: 500_000_000, reason })
  await post('adjustments', { ...correction, amount: 1_200_000, reason })
  const [call] = dataOf(await staff.ask('/v1/finance/journal?event=call.settled&limit=1'))
  const [moved] = dataOf(await staff.ask('/v1/finance/journal?event=wallet.moved&limit=1'))
  return {
    staff,
    paths: [
      ...new Set([FINANCE_TABS, ADMIN_TABS].flatMap((area) => Object.values(area.pages))),
      '/finance/accounts/liabilities:holds',
      '/finance/trial-balance?prefix=liabilities:agents:',
      `/finance/entries/${String(call?.['id'])}`,
      `/finance/entries/${String(moved?.['id'])}`,
      `/finance/transfers?transaction=${open}`,
      `/finance/transfers?transaction=${posted}`,
      '/finance/transfers?transaction=0x12',
      '/finance/exceptions?state=all',
      '/finance/payments?state=all',
      '/finance/payouts',
      '/admin?slug=echo',
      '/admin?slug=harbor-maps',
      `/admin/keys?key=${account.keyId}`,
    ],
  }
}
