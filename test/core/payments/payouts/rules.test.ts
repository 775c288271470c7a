import { expect } from 'chai'
import { approvePayout, listWaitingPayouts } from '../../../../core/finance/payout-approvals.ts'
import type { Staff } from '../../../../core/finance/staff-acts.ts'
import { prefixedId } from '../../../../core/ids.ts'
import { micros } from '../../../../core/money.ts'
import { readProviderBalances } from '../../../../core/payments/payouts/provider-balances.ts'
import type { PayoutRules } from '../../../../core/payments/payouts/rules.ts'
import { sendPayouts } from '../../../../core/payments/payouts/send.ts'
import { startPayouts } from '../../../../core/payments/payouts/start.ts'
import { readServiceSums, readStatementLines } from '../../../../core/payments/payouts/statement.ts'
import {
  backdatePayouts,
  LOOSE_RULES,
  type PayoutFixture,
  type Provider,
  startPayoutFixture,
} from './fixture.ts'

const USD = 1_000_000n
const SOURCE = { via: null, requestId: null, network: null }
const APPROVER = { name: 'ann@house.example', role: 'finance', ...SOURCE } as const

describe('the rules of payouts', () => {
  let world: PayoutFixture
  before(async () => {
    world = await startPayoutFixture({ opening: 1_000n * USD })
  })
  after(() => world.stop())

  let used = 0
  /** Creates a provider that is owed dollars, as the only one to be paid. */
  const owed = async (...dollars: readonly bigint[]): Promise<Provider> => {
    await world.admin.query(`UPDATE hub.provider SET suspended_at = now(), suspended_reason = 'over'
      WHERE suspended_at IS NULL`)
    const provider = await world.provider(`p-rule-${++used}`, ['one', 'two'])
    for (const [i, each] of dollars.entries()) await world.earn(provider.accounts[i]!, each * USD)
    return provider
  }
  const withRules = (rules: Partial<PayoutRules>) => ({
    ...world.ports,
    rules: { ...LOOSE_RULES, ...rules },
  })
  const pay = async (rules: Partial<PayoutRules>): Promise<number> => {
    const started = await startPayouts(withRules(rules))
    await sendPayouts(withRules(rules), undefined, 0)
    return started
  }
  const balanceOf = async ({ owner }: Provider, rules: Partial<PayoutRules>) => {
    const [balance] = await readProviderBalances(world.pool, [owner], withRules(rules))
    return balance!
  }
  const hoursUntil = (at: Date | null): number => Math.round((at!.getTime() - Date.now()) / 3.6e6)
  const paidTo = ({ address }: Provider) => world.chain.balanceOf(address)
  const yesterday = ({ id }: Provider) => backdatePayouts(world.admin, id)
  const credit = (provider: Provider, dollars: bigint) => {
    const [account] = provider.accounts
    const terms = { debit: 'expenses:free-tier', credit: account!.code, asset: 'USDC' } as const
    return world.post(
      { type: 'balance.adjusted', ...terms, amount: micros(dollars * USD) },
      account!,
      { author: 'fay', reason: 'a gift' },
    )
  }

  it('send a manual credit on chain only after the wait, and say so (A200)', async () => {
    const provider = await owed()
    await credit(provider, 20n)
    const rules = { creditHours: 48 }
    expect(await pay(rules), 'within 30 s of the credit').to.equal(0)
    const { waitsFor, waitsUntil } = await balanceOf(provider, rules)
    expect([waitsFor, hoursUntil(waitsUntil)]).to.deep.equal(['manual_credit', 48])
    await world.earn(provider.accounts[1]!, 30n * USD)
    expect(await pay(rules), 'nor with what was earned').to.equal(0)
    const [listed] = await listWaitingPayouts(world.pool, withRules(rules))
    expect(listed).to.include({ provider: provider.id, rule: 'manual_credit', owed: 50n * USD })
    await world.admin.query(`ALTER TABLE ledger.journal DISABLE TRIGGER USER;
      UPDATE ledger.journal SET at = at - interval '48 h' WHERE kind = 40`)
    expect(await pay(rules)).to.equal(1)
    expect(await paidTo(provider)).to.equal(50n * USD)
  })

  it('hold the first payout to each owner from when it is due', async () => {
    const provider = await owed(5n)
    const rules = { firstHours: 72 }
    expect(await pay(rules)).to.equal(0)
    const { waitsFor, waitsUntil } = await balanceOf(provider, rules)
    expect([waitsFor, hoursUntil(waitsUntil)]).to.deep.equal(['first_payout', 72])
    const past = (hours: number) =>
      world.admin.query(`ALTER TABLE hub.payout_first DISABLE TRIGGER append_only;
        UPDATE hub.payout_first SET due_at = due_at - interval '${hours} h'
          WHERE provider = '${provider.id}';
        ALTER TABLE hub.payout_first ENABLE TRIGGER append_only`)
    await past(71)
    expect(await pay(rules)).to.equal(0)
    await past(1)
    expect(await pay(rules)).to.equal(1)
    await yesterday(provider)
    await world.earn(provider.accounts[0]!, 2n * USD)
    expect(await pay(rules), 'no first payout any more').to.equal(1)
    await yesterday(provider)
    const heir = await world.provider('p-heir')
    await world.admin.query(`UPDATE hub.provider SET owner = NULL WHERE id = 'p-heir'`)
    await world.admin.query(`UPDATE hub.provider SET owner = $1 WHERE id = $2`, [
      heir.owner,
      provider.id,
    ])
    await world.admin.query(
      `INSERT INTO hub.payout_address (provider, address, set_by, nonce, effective_at)
       VALUES ($1, $2, $3, 'heir', now())`,
      [provider.id, heir.address, heir.owner],
    )
    await world.earn(provider.accounts[0]!, 2n * USD)
    expect(await pay(rules), 'the first payout to another owner').to.equal(0)
  })

  it('pay a provider the maximum of a day, and the rest on the next days', async () => {
    const provider = await owed(4n, 5n, 1n)
    const rules = { providerCap: 7n * USD }
    expect(await pay(rules)).to.equal(1)
    expect(await paidTo(provider)).to.equal(7n * USD)
    expect(await pay(rules), 'on the same day').to.equal(0)
    expect(await balanceOf(provider, rules)).to.include({ owed: 3n * USD, waitsFor: 'tomorrow' })
    await world.earn(provider.accounts[1]!, 2n * USD)
    await yesterday(provider)
    expect(await pay(rules)).to.equal(1)
    expect(await paidTo(provider)).to.equal(12n * USD)
    const { rows } = await world.pool.query<{ id: string; amount: bigint }>(
      `SELECT id, amount FROM hub.payout WHERE provider = $1 AND state = 'confirmed' ORDER BY id`,
      [provider.id],
    )
    for (const { id, amount } of rows) {
      const lines = await readStatementLines(world.pool, id, 100)
      expect(lines.reduce((sum, line) => sum + line.amount, 0n)).to.equal(amount)
      const sums = await readServiceSums(world.pool, id)
      expect(sums.reduce((sum, { earned }) => sum + earned, 0n)).to.equal(amount)
      const paged = []
      for (let after: Parameters<typeof readStatementLines>[3]; ; ) {
        const [line] = await readStatementLines(world.pool, id, 1, after)
        if (!line) break
        paged.push(line)
        after = [String(line.account), line.shard, String(line.seq)]
      }
      expect(paged).to.deep.equal(lines)
    }
  })

  it('pay all providers together no more than the maximum of a day', async () => {
    const first = await owed(6n)
    const second = await world.provider('p-second')
    await world.earn(second.accounts[0]!, 6n * USD)
    const { rows } = await world.pool.query<{ today: bigint }>(
      `SELECT coalesce(sum(amount), 0)::bigint AS today FROM hub.payout
       WHERE state <> 'failed' AND started_at >= date_trunc('day', now(), 'UTC')`,
    )
    const rules = { platformCap: rows[0]!.today + 10n * USD }
    expect(await pay(rules)).to.equal(1)
    expect(await paidTo(first)).to.equal(6n * USD)
    const { waitsFor, waitsUntil } = await balanceOf(second, rules)
    expect(waitsFor).to.equal('platform_cap')
    expect(waitsUntil!.toISOString()).to.match(/T00:00:00.000Z$/)
    await yesterday(first)
    await world.earn(first.accounts[0]!, 6n * USD)
    expect(await pay({ platformCap: rows[0]!.today + 10n * USD }), 'the next day').to.equal(1)
    expect(await paidTo(second), 'first, because it was passed over').to.equal(6n * USD)
  })

  it('count all providers and addresses of one person together (A206)', async () => {
    const first = await owed(6n)
    const [linked, sharing, stranger] = [
      await world.provider('p-z-linked'),
      await world.provider('p-z-sharing'),
      await world.provider('p-z-stranger'),
    ]
    const person = prefixedId('prn')
    await world.admin.query(
      `WITH person AS (INSERT INTO hub.person (principal, email) VALUES ($1, 'one@house.example'))
       INSERT INTO hub.principal (id, shard) VALUES ($1, 0)`,
      [person],
    )
    await world.admin.query(
      'INSERT INTO hub.wallet_link (wallet, person) VALUES ($1, $3), ($2, $3)',
      [first.owner, linked.owner, person],
    )
    await world.admin.query(
      `ALTER TABLE hub.payout_address DISABLE TRIGGER USER;
       UPDATE hub.payout_address SET address = '${first.address}' WHERE provider = 'p-z-sharing';
       ALTER TABLE hub.payout_address ENABLE TRIGGER USER`,
    )
    await world.admin.query(`DELETE FROM hub.wallet_link`) // what was linked counts
    for (const each of [linked, sharing, stranger]) await world.earn(each.accounts[0]!, 6n * USD)
    const rules = { alone: 10n * USD }
    expect(await pay(rules)).to.equal(2)
    const waiting = await listWaitingPayouts(world.pool, withRules(rules))
    expect(waiting.map(({ rule }) => rule)).to.deep.equal(['approval', 'approval'])
    expect(waiting[0]!.until!.toISOString(), 'or the next day').to.match(/T00:00:00.000Z$/)
    expect(await paidTo(stranger)).to.equal(6n * USD)
    const capped = { providerCap: 10n * USD }
    expect(await pay(capped)).to.equal(0)
    expect(await balanceOf(linked, capped)).to.include({ waitsFor: 'provider_cap' })
    await approvePayout(
      withRules(rules),
      { ...APPROVER, principal: stranger.owner },
      { provider: linked.id, address: linked.address, amount: 6n * USD },
      'known to us',
    )
    expect(await pay(rules)).to.equal(1)
    expect(await paidTo(linked)).to.equal(6n * USD)
    expect(await pay({}), 'without rules').to.equal(1)
  })

  it('hold a large payout until another person approves it, once (A202)', async () => {
    const provider = await owed(9n)
    const rules = { alone: 5n * USD }
    expect(await pay(rules)).to.equal(0)
    expect(await balanceOf(provider, rules)).to.include({ waitsFor: 'approval', waitsUntil: null })
    const staff = async (principal?: string): Promise<Staff> => {
      const id = principal ?? prefixedId('prn')
      if (!principal) {
        await world.admin.query('INSERT INTO hub.principal (id, shard) VALUES ($1, 0)', [id])
      }
      return { ...APPROVER, principal: id }
    }
    const approve = (by: Staff, address = provider.address as string) =>
      approvePayout(
        withRules(rules),
        by,
        { provider: provider.id, address, amount: 9n * USD },
        'a large sale',
      ).then(
        () => 'approved',
        ({ code }: { code: string }) => code,
      )
    expect(await approve(await staff(provider.owner)), 'of their own').to.equal('own_account')
    expect(await approve(await staff(), `0x${'9'.repeat(40)}`)).to.equal('not_found')
    expect(await approve(await staff())).to.equal('approved')
    await world.earn(provider.accounts[0]!, 100n * USD)
    expect(await pay(rules)).to.equal(1)
    expect(await paidTo(provider), 'as much as was approved').to.equal(9n * USD)
    await yesterday(provider)
    expect(await pay(rules), 'the approval is used up').to.equal(0)
  })

  it('are enforced by the statement that starts a payout', async () => {
    const provider = await owed(9n)
    for (const [rules, code] of [
      [{ providerCap: 8n * USD }, 'provider_cap'],
      [{ platformCap: 8n * USD }, 'platform_cap'],
      [{ alone: 8n * USD }, 'approval'],
      [{ firstHours: 1 }, 'first_payout'],
    ] as const) {
      const { providerCap, platformCap, alone, firstHours, creditHours } = withRules(rules).rules
      const refused = await world.pool
        .query(
          `INSERT INTO hub.payout (id, provider, batch, attempt, amount, recovered, shard, payer,
             payee, nonce, valid_before, from_block, rules)
           VALUES (gen_random_uuid(), $1, now()::date, 1, $2, 0, 0, $3, $3,
             '0x' || repeat('a', 64), now(), 1, ROW($4, $5, $6, $7, $8)::hub.payout_rules)`,
          [
            provider.id,
            9n * USD,
            provider.address,
            providerCap,
            platformCap,
            alone,
            firstHours,
          ].concat(creditHours as never),
        )
        .catch((error: { code: string; message: string }) => [error.code, error.message])
      expect(refused).to.deep.equal(['AH013', code])
    }
  })

  it('hold for two processes that start payouts at the same time (A201)', async () => {
    await owed()
    const providers: Provider[] = []
    for (let i = 0; i < 16; i++) {
      const provider = await world.provider(`p-race-${i}`)
      await world.earn(provider.accounts[i % 2]!, 3n * USD)
      providers.push(provider)
    }
    const today = async () =>
      (
        await world.pool.query<{ sum: bigint }>(
          `SELECT coalesce(sum(amount), 0)::bigint AS sum FROM hub.payout
           WHERE state <> 'failed' AND started_at >= date_trunc('day', now(), 'UTC')`,
        )
      ).rows[0]!.sum
    const before = await today()
    const rules = { ...LOOSE_RULES, platformCap: before + 20n * USD, providerCap: 2n * USD }
    const payers = await Promise.all([world.payer(1, rules), world.payer(1, rules)])
    await Promise.all(payers.map(({ exited }) => exited))
    expect(await today(), 'ten of two dollars each').to.equal(before + 20n * USD)
    const held = await Promise.all(providers.map(paidTo))
    expect(held.toSorted((a, b) => Number(a - b))).to.deep.equal([
      ...Array<bigint>(6).fill(0n),
      ...Array<bigint>(10).fill(2n * USD),
    ])
  })
})
