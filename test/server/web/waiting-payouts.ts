import { expect } from 'chai'
import { earningsOf } from '../../../core/ledger/postings.ts'
import { usd } from '../../../core/money.ts'
import { earn } from '../../support/earn.ts'
import type { TestHub } from '../../support/hub.ts'
import type { Person } from '../../support/person.ts'
import type { useTabs } from './tabs.ts'

/**
 * Creates a provider with a payout that needs an approval, and a requested payout address.
 * @returns the current payout address
 */
export async function createWaitingPayout(hub: TestHub, provider: string): Promise<string> {
  const { keyId, address } = await hub.agent()
  const { ledger } = hub.hub
  const { admin } = hub.database
  await admin.query(
    `WITH owner AS (SELECT principal AS id FROM hub.api_key WHERE id = $2),
       made AS (INSERT INTO hub.provider (id, owner) SELECT $1, id FROM owner RETURNING id, owner)
     INSERT INTO hub.payout_address (provider, address, set_by, nonce, effective_at)
     SELECT id, $3, owner, id, now() FROM made`,
    [provider, keyId, address.toLowerCase()],
  )
  await admin.query(
    `INSERT INTO hub.payout_address_request (provider, address, requested_by, nonce)
     SELECT id, '0x' || repeat('5', 40), owner, 'change-' || id FROM hub.provider WHERE id = $1`,
    [provider],
  )
  const owner = await ledger.open(earningsOf(provider, 'svc', false), 'USDC')
  await earn(ledger, owner, usd('640'))
  return address
}

interface PayoutTestDeps {
  readonly hub: () => TestHub
  readonly tab: (
    person: Person,
  ) => Promise<Omit<Awaited<ReturnType<ReturnType<typeof useTabs>['open']>>, 'go'> & Opens>
  readonly people: () => { readonly fay: Person; readonly ann: Person }
}
interface Opens {
  open(path: string): Promise<unknown>
}

/** Tests of `/finance/payouts`, and of a form that outlives the sign-in. */
export function waitingPayoutTests(name: string, { hub, tab, people }: PayoutTestDeps): void {
  it('a large payout is approved, and a lost payout address recovered', async () => {
    const { fay, ann } = people()
    const provider = `p-large-${name}`
    await createWaitingPayout(hub(), provider)
    const fays = await tab(fay)
    await fays.open('/finance')
    expect(await fays.text()).to.match(/Payouts to approve\s*1/)
    await fays.open('/finance/payouts')
    expect(await fays.text())
      .to.include('$640.00 to 0x')
      .and.to.include('amount needs an approval')
    const form = `form:has([name=provider][value=${provider}]) [name=reason]`
    expect(await fays.page.$(form), 'for this provider').not.to.equal(null)
    expect(await fays.send('approve', { reason: 'a large sale' })).to.include('Payout approved.')
    expect(await fays.send('recover', { reason: 'a call' })).to.include('Administrators only')
    await fays.close()
    const anns = await tab(ann)
    await anns.open('/finance/payouts')
    expect(await anns.send('recover', { reason: 'a call' })).to.include('Change authorized.')
    await anns.close()
  })

  it('a started payout is listed with the reason why it was not sent', async () => {
    const { fay } = people()
    const { admin } = hub().database
    const bypassRules = async (text: string) => {
      await admin.query('ALTER TABLE hub.payout DISABLE TRIGGER ALL')
      await admin.query(text)
      await admin.query('ALTER TABLE hub.payout ENABLE TRIGGER ALL')
    }
    await bypassRules(
      `INSERT INTO hub.payout (id, provider, batch, attempt, amount, recovered, shard, payer, payee,
         nonce, valid_before, from_block, reason)
       SELECT gen_random_uuid(), 'p-started', now(), 1, 640000000, 0, 0, w, w,
         '0x' || repeat('8', 64), now() + interval '1 hour', 1, 'insufficient funds for gas'
       FROM (SELECT '0x' || repeat('7', 40)) a(w)`,
    )
    const fays = await tab(fay)
    await fays.open('/finance')
    expect(await fays.text()).to.match(/Pending payouts\s*1/)
    await fays.open('/finance/payouts')
    expect(await fays.text())
      .to.include('Pending')
      .and.to.include('insufficient funds for gas')
    await fays.close()
    await bypassRules(`DELETE FROM hub.payout WHERE provider = 'p-started'`)
  })

  it('a form is kept while its author signs in again', async () => {
    const { fay } = people()
    const { admin } = hub().database
    const age = (minutes: number) =>
      admin.query(
        `UPDATE hub.session s SET created_at = now() - make_interval(mins => $2)
         FROM hub.person p WHERE p.principal = s.person AND p.email = $1`,
        [fay.email, minutes],
      )
    const fays = await tab(fay)
    await fays.open('/finance/adjustments')
    await age(11)
    const order = { debit: 'expenses:free-tier', credit: 'equity:opening', amount: '1.25' }
    const page = await fays.send('adjust', { ...order, reason: `kept ${name}` })
    expect(page).to.include('Sign in again').and.to.include('/finance/adjustments')
    await age(0)
    await fays.open('/finance/adjustments')
    expect(await fays.text()).to.include('What you typed was kept.')
    const value = (field: string) =>
      fays.page.$eval(`[name=${field}]`, (element) => (element as { value?: string }).value)
    expect([await value('amount'), await value('debit')]).to.deep.equal(['1.25', order.debit])
    expect(await fays.send('adjust')).to.include('Adjustment posted.')
    await fays.close()
  })
}
