import { expect } from 'chai'
import { systemClock } from '../../../../core/clock.ts'
import { uuidv7 } from '../../../../core/ids.ts'
import { usd } from '../../../../core/money.ts'
import { EARLY_CREDITS_MAX } from '../../../../core/payments/receiving/early-credits.ts'
import { hex, NETWORK, payment, purchase, useClaims } from '../../../support/claims-fixture.ts'

describe('a named purchase', () => {
  const use = useClaims()
  let id: string
  beforeEach(() => {
    id = uuidv7(systemClock.now().getTime())
  })
  const claim = (key: ReturnType<typeof payment>) => use.claims.claim(key, { id, ...purchase() })

  for (const end of ['failed', 'released'] as const) {
    it(`is paid by one payment, also after a ${end} one`, async () => {
      const [lost, paid, late] = [payment(), payment(), payment()]
      expect(await claim(lost)).to.include({ isNew: true })
      await (end === 'failed'
        ? use.claims.conclude(lost, 'failed')
        : use.claims.release((await use.claims.find(lost))!))
      const second = await claim(paid)
      expect(second, 'the name is free again').to.include({ isNew: true })
      await use.claims.conclude(paid, 'settled', hex(32))
      expect(await use.claims.findPurchase(id)).to.deep.include({ key: paid, state: 'settled' })
      const third = await claim(late)
      expect(third, 'it is already paid').to.deep.include({ isNew: false })
      expect(third.claim.key).to.deep.equal(paid)
      expect((await claim(lost)).isNew, 'and not by the first payment again').to.equal(false)
      expect(await use.claims.find(lost), 'which stays watched under its own id').to.include({
        state: end,
        id,
      })
    })
  }

  it('is claimed by one of several concurrent payments after another one failed', async () => {
    const lost = payment()
    await claim(lost)
    await use.claims.release((await use.claims.find(lost))!)
    const payments = Array.from({ length: 4 }, payment)
    const results = await Promise.all([lost, lost, ...payments, ...payments].map(claim))
    expect(results.filter(({ isNew }) => isNew)).to.have.lengthOf(1)
    expect(new Set(results.map((each) => each.claim.id)).size).to.equal(1)
  })
})

describe('credits of payments that are not final', () => {
  const use = useClaims()
  const POLYGON = 'eip155:137'
  const settle = async (amount: bigint, network = NETWORK) => {
    const key = { ...payment(), network }
    const { claim } = await use.claims.claim(key, { ...purchase(), amount })
    return { claim, isGranted: await use.claims.early.grant(claim, hex(32)) }
  }

  it('are at most 1,000 USD on a network at a time, bought by any number at once', async () => {
    const bought = await Promise.all(Array.from({ length: 12 }, () => settle(usd('100'))))
    const granted = bought.filter(({ isGranted }) => isGranted)
    expect(granted).to.have.length(10)
    expect(await settle(1n), 'another one').to.have.property('isGranted', false)
    expect(await settle(usd('1000'), POLYGON), 'elsewhere').to.have.property('isGranted', true)
    const [{ claim }] = granted as [(typeof granted)[0]]
    expect(await use.claims.early.grant(claim, undefined), 'again').to.equal(true)
    await use.claims.conclude(claim.key, 'confirmed')
    expect(await use.claims.early.grant(claim, undefined), 'once final').to.equal(true)
    expect(await use.claims.find(claim.key)).to.have.property('state', 'confirmed')
    expect(await settle(usd('100')), 'when one is final').to.have.property('isGranted', true)
    expect(await settle(EARLY_CREDITS_MAX + 1n, 'eip155:10')).to.have.property('isGranted', false)
  })
})

describe('the identifier of a payment', () => {
  const use = useClaims()

  it('stands for one payment, also beside one of the same number on another network', async () => {
    const [key, identifier] = [payment(), 'pay_0123456789abcdef']
    await use.claims.claim(key, { ...purchase(), identifier })
    expect(await use.claims.find(key, identifier)).to.deep.include({ key, identifier })
    const other = { ...key, network: 'eip155:137' }
    const found = await use.claims.find(other, identifier).catch((error) => error.code)
    expect(found).to.equal('payment_identifier_reused')
  })
})

describe('the claims that the job takes', () => {
  const use = useClaims()

  it('are pending ones after a second, and those of a request at work after five', async () => {
    const [working, pending] = [payment(), payment()]
    for (const key of [working, pending]) await use.claims.claim(key, purchase())
    await use.claims.conclude(pending, 'pending')
    const taken = async (age: string) => {
      const sql = 'UPDATE hub.payment_claim SET changed_at = now() - $1::interval'
      await use.fresh.admin.query(sql, [age])
      return (await use.claims.takeUnfinished(5, 10, NETWORK)).map(({ key }) => key)
    }
    expect(await taken('0.9 s')).to.deep.equal([])
    expect(await taken('1.1 s')).to.deep.equal([pending])
    expect(await taken('5.1 s')).to.have.deep.members([working, pending])
  })

  it('include failed ones until a settlement of their amount would be final', async () => {
    const [small, large] = [payment(), payment()]
    const validBefore = new Date(Date.now() - 120_000)
    for (const [key, amount] of [
      [small, 99_999_999n],
      [large, 100_000_000n],
    ] as const) {
      await use.claims.claim(key, { ...purchase(), amount, validBefore })
      await use.claims.conclude(key, 'failed')
    }
    const taken = (await use.claims.takeUnfinished(0, 10, NETWORK)).map(({ key }) => key)
    expect(taken).to.deep.include(large).and.to.not.deep.include(small)
  })
})

describe('a payment with an identifier', () => {
  const use = useClaims()

  it('is claimed once by concurrent requests, and reported to the others', async () => {
    for (let round = 0; round < 40; round++) {
      const key = payment()
      const identified = { ...purchase(), identifier: `payment_${round}` }
      const all = await Promise.all(
        Array.from({ length: 8 }, () => use.claims.claim(key, identified)),
      )
      expect(all.filter(({ isNew }) => isNew)).to.have.length(1)
      expect(new Set(all.map(({ claim }) => claim.id))).to.have.property('size', 1)
    }
  })

  it('is refused if another one of its payer has the identifier', async () => {
    const key = payment()
    const identified = { ...purchase(), identifier: 'payment_of_order_1' }
    await use.claims.claim(key, identified)
    const other = { ...key, nonce: hex(32) }
    const refused: unknown = await use.claims.claim(other, identified).catch((error) => error)
    expect(refused).to.have.property('code', 'payment_identifier_reused')
  })
})

describe('the claim of a process that is gone', () => {
  const use = useClaims()
  before(() => use.fresh.admin.query(`UPDATE hub.process SET steady_since = '2020-01-01'`))
  const call = (authorized: bigint | null) =>
    ({ ...purchase(), purpose: 'call', authorized, amount: authorized ?? 5_000_000n }) as const
  const lose = (nonce: string) =>
    use.fresh.pool.query(
      'UPDATE hub.payment_claim SET process = gen_random_uuid() WHERE nonce = $1',
      [nonce],
    )

  it('is taken over by the same kind of payment', async () => {
    for (const authorized of [null, 1_000n]) {
      const key = payment()
      await use.claims.claim(key, call(authorized))
      await lose(key.nonce)
      expect(await use.claims.claim(key, call(authorized))).to.include({ isNew: true })
    }
  })
  it('is taken over if its settlement ended and nothing is known to be sent', async () => {
    const end = async (key: ReturnType<typeof payment>, isBegun: boolean, transaction?: string) => {
      const { claim } = await use.claims.claim(key, call(null))
      if (isBegun) await use.claims.beginSettlement(claim)
      await use.claims.conclude(key, 'pending', transaction)
    }
    for (const [isBegun, transaction, isNew] of [
      [true, undefined, true],
      [true, `0x${'a'.repeat(64)}`, false],
      [false, undefined, false],
    ] as const) {
      const key = payment()
      await end(key, isBegun, transaction)
      expect(await use.claims.claim(key, { ...call(null), requestHash: Buffer.alloc(32, 9) }))
        .to.include({ isNew: false })
        .and.have.nested.property('claim.state', 'pending')
      const both = await Promise.all([1, 2].map(() => use.claims.claim(key, call(null))))
      expect(both.filter((each) => each.isNew)).to.have.length(isNew ? 1 : 0)
    }
  })
  it('is not taken over by another payment of the same named purchase', async () => {
    const [first, second] = [payment(), payment()]
    const named = { ...purchase(), id: uuidv7(systemClock.now().getTime()) }
    await use.claims.claim(first, named)
    await lose(first.nonce)
    const other = await use.claims.claim(second, named)
    expect(other).to.include({ isNew: false })
    expect(other.claim.key).to.deep.equal(first)
    expect(await use.claims.claim(first, named)).to.include({ isNew: true })
  })
  it('is not taken over by a permit of another maximum or for a transfer', async () => {
    for (const [first, second] of [
      [null, 1_000n],
      [1_000n, null],
      [1_000n, 2_000n],
    ] as const) {
      const key = payment()
      await use.claims.claim(key, call(first))
      await lose(key.nonce)
      expect(await use.claims.claim(key, call(second))).to.include({ isNew: false })
    }
  })
})
