import { reconcile } from '../../core/reconciliation/reconcile.ts'
import { ADMIN_TABS, FINANCE_TABS } from '../../server/web/navigation.ts'
import { sendUsdc } from '../server/rest/finance/platform-wallets.ts'
import { type makeAdmin, weather } from '../server/rest/finance/world.ts'
import { colleague, data } from '../server/staff/world.ts'
import type { openAccount } from '../server/web/account-fixture.ts'
import type { TestHub } from './hub.ts'

/** Somebody of the house, with something on every page of finance and administrators. */
export async function openHouse(
  hub: TestHub,
  admin: ReturnType<typeof makeAdmin>,
  account: Awaited<ReturnType<typeof openAccount>>,
) {
  const staff = await colleague(hub, admin, 'ann@house.example', 'admin')
  const tell = async (path: string, body: object) => {
    const told = await staff.ask(`/v1/finance/${path}`, { body })
    if (told.status >= 300) throw new Error(`${path}: ${told.text}`)
  }
  const { chain, treasury, spend, finality } = hub.sandbox!.money
  const wallets = { treasury, spend: spend.address }
  const look = () => reconcile({ pool: hub.hub.pool, chain, finality, wallets })
  await look()
  const booked = await sendUsdc(hub, spend.address, treasury, 1_250_000n)
  await tell('transfers', { transaction: booked, reason: 'What the spend wallet has too much.' })
  const open = await sendUsdc(hub, spend.address, treasury, 4_000_000n)
  await look()
  const agent = await hub.agent()
  await hub.credit(agent.keyId, 5_000_000n)
  await weather(hub, agent.apiKey)
  await tell('exports', { format: 'csv', reason: 'year end' })
  const correction = { debit: 'expenses:free-tier', credit: 'equity:opening' }
  const reason = 'A gift of before was not booked.'
  await tell('adjustments', { ...correction, amount: 500_000_000, reason })
  await tell('adjustments', { ...correction, amount: 1_200_000, reason })
  const [call] = data(await staff.ask('/v1/finance/journal?event=call.settled&limit=1'))
  const [moved] = data(await staff.ask('/v1/finance/journal?event=wallet.moved&limit=1'))
  return {
    staff,
    paths: [
      ...new Set([FINANCE_TABS, ADMIN_TABS].flatMap((area) => Object.values(area.pages))),
      '/finance/accounts/liabilities:holds',
      '/finance/trial-balance?prefix=liabilities:agents:',
      `/finance/entries/${String(call?.['id'])}`,
      `/finance/entries/${String(moved?.['id'])}`,
      `/finance/transfers?transaction=${open}`,
      `/finance/transfers?transaction=${booked}`,
      '/finance/transfers?transaction=0x12',
      '/finance/exceptions?state=all',
      '/finance/payments?state=all',
      '/admin?slug=echo',
      '/admin?slug=harbour-maps',
      `/admin/keys?key=${account.keyId}`,
    ],
  }
}
