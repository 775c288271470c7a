import { expect } from 'chai'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { HubClient } from '../../../core/client/index.ts'
import { usd } from '../../../core/money.ts'
import { createAdmin } from '../../server/rest/finance/fixture.ts'
import { sendUsdc } from '../../server/rest/finance/platform-wallets.ts'
import {
  createException,
  createStaff,
  createVisitor,
  dataOf,
  expectRefused,
  type Json,
  readAudit,
} from '../../server/staff/fixture.ts'
import { signFor } from '../../server/web/linked-wallet.ts'
import { type ApiResponse, ask } from '../../support/ask.ts'
import type { TestAgent } from '../../support/hub.ts'
import type { Person } from '../../support/person.ts'
import { useHub } from '../../support/suite.ts'

const reason = 'a story'
const DEBIT = 'expenses:free-tier'
const CREDIT = 'equity:opening'
/** Above the daily limit of one person. */
const BIG = 101_000_000

describe('one member of staff cannot turn an entry into money', () => {
  const admin = createAdmin()
  const hub = useHub({ config: { admins: [admin.wallet] } })
  let fay: Person
  let gus: Person
  let ann: Person
  before(async () => {
    fay = await createStaff(hub(), admin, 'fay@house.example', 'finance')
    gus = await createStaff(hub(), admin, 'gus@house.example', 'finance')
    ann = await createStaff(hub(), admin, 'ann@house.example', 'admin')
  })

  const post = (who: Person, path: string, body: Json): Promise<ApiResponse> =>
    who.ask(`/v1/finance/${path}`, { body: { reason, ...body } })
  const adjust = (who: Person, credit: string, amount: number): Promise<ApiResponse> =>
    post(who, 'adjustments', { debit: DEBIT, credit, amount })
  const confirm = (who: Person, id: unknown): Promise<ApiResponse> =>
    post(who, `proposals/${String(id)}/confirm`, {})
  const creditsOf = ({ keyId }: Pick<TestAgent, 'keyId'>) => `liabilities:agents:${keyId}:credits`
  const expectProposed = ({ status, body, text }: ApiResponse): string => {
    expect([status, body['state']], text).to.deep.equal([202, 'proposed'])
    return String(body['id'])
  }
  const register = (account: PrivateKeyAccount) =>
    new HubClient({ baseUrl: hub().url, wallet: { account, sandbox: true } }).register()
  const grant = (who: Person, name: string, role: string): Promise<ApiResponse> =>
    who.ask('/v1/admin/roles', { body: { name, role, reason } })
  const nextStaff = (name: string) => createStaff(hub(), admin, `${name}@house.example`, 'finance')
  const paidCall = async (agent: TestAgent): Promise<string> => {
    await agent.client.call('echo', '/say', { words: 'hi' })
    const history = await ask(hub().url, '/v1/credits/history', { key: agent.apiKey })
    return String(dataOf(history)[0]!['call_id'] ?? dataOf(history)[0]!['id'])
  }

  it('A170: by unlinking a wallet before confirming with it, or linking it only then', async () => {
    const wallet = privateKeyToAccount(generatePrivateKey())
    const { apiKey: key } = await register(wallet)
    await signFor(fay, wallet, '/v1/account/wallets')
    const granted = await ask(hub().url, '/v1/admin/roles', {
      key: await admin.key(hub()),
      body: { name: wallet.address, role: 'finance', reason },
    })
    expect(granted.status, granted.text).to.equal(201)
    const id = expectProposed(await adjust(fay, CREDIT, BIG))
    const path = `/v1/account/wallets/${wallet.address.toLowerCase()}`
    const unlinked = await fay.ask(path, { method: 'DELETE' })
    expect(unlinked.status, unlinked.text).to.be.within(200, 204)
    const confirmed = () =>
      ask(hub().url, `/v1/finance/proposals/${id}/confirm`, { key, body: { reason } })
    expectRefused(await confirmed(), 403, 'second_person_required')
    const { last } = await readAudit(hub())
    expect(last).to.deep.include({
      act: 'act.refuse',
      subject: `POST /v1/finance/proposals/${id}/confirm`,
      after: { code: 'second_person_required' },
    })
    const other = await createVisitor(hub(), 'other@house.example')
    await signFor(other, wallet, '/v1/account/wallets') // of the wallet, also through a third
    await grant(ann, other.email, 'finance')
    expectRefused(await confirm(other, id), 403, 'second_person_required')
    expect((await confirm(gus, id)).body['state']).to.equal('booked')
  })

  it('A171: by splitting an amount, over days of one kind or over all kinds', async () => {
    const una = await nextStaff('una')
    const ada = await hub().agent()
    await hub().credit(ada.keyId, usd('5'))
    for (let i = 0; i < 3; i++) {
      expect((await adjust(una, CREDIT, 30_000_000)).status).to.equal(201)
    }
    const { rows } = await hub().database.admin.query<{ id: bigint }>(
      `INSERT INTO hub.reconciliation_exception (wallet, kind, fact, amount, reason)
       VALUES ('treasury', 'unknown_deposit', 'split', 9999950, 'Nobody knows.') RETURNING id`,
    )
    const exception = String(rows[0]!.id)
    const call = await paidCall(ada)
    const { treasury, spend } = hub().sandbox!.money
    const transaction = await sendUsdc(hub(), spend.address, treasury, 10_000_001n)
    expectProposed(await adjust(una, CREDIT, 10_000_001))
    expect((await post(una, 'transfers', { transaction })).status).to.equal(202)
    const resolve = () => post(una, `exceptions/${exception}/resolve`, { decision: 'surplus' })
    expect((await resolve()).status, 'within the limit').to.equal(200)
    const refund = await post(una, `calls/${call}/refund`, {})
    const id = expectProposed(refund)
    expect(expectProposed(await post(una, `calls/${call}/refund`, {})), 'the same').to.equal(id)
    expect(await hub().balance(ada.keyId), 'not refunded yet').to.equal(usd('5') - 100n)
    expectRefused(await confirm(una, id), 403, 'second_person_required')
    expect((await confirm(gus, id)).status).to.equal(200)
    expect(await hub().balance(ada.keyId)).to.equal(usd('5'))
    const open = dataOf(await gus.ask('/v1/finance/proposals?state=open&kind=transfer'))
    expect((await confirm(gus, open[0]!['id'])).body['state']).to.equal('booked')
    const { body } = await gus.ask(`/v1/finance/transfers/${transaction}`)
    expect(body).to.include({ booked: true })
  })

  it('A172: by crediting their own key, or their own provider', async () => {
    const wallet = privateKeyToAccount(generatePrivateKey())
    const { apiKey: key, keyId } = await register(wallet)
    await signFor(gus, wallet, '/v1/account/wallets')
    const credits = `liabilities:agents:${keyId}:credits`
    expectRefused(await adjust(gus, credits, 1), 403, 'own_account')
    const id = expectProposed(await adjust(fay, credits, 1))
    expectRefused(await confirm(gus, id), 403, 'own_account')
    expectRefused(await confirm(fay, id), 403, 'second_person_required')

    const about = { slug: 'gus-1', name: 'G', category: 'data', summary: 'G.' }
    const own = { ...about, base_url: 'https://api.agenthub-test.com' }
    const listed = await ask(hub().url, '/v1/provider/services', { key, body: own })
    const provider = String(listed.body['provider'])
    const earnings = `liabilities:providers:${provider}:gus-1`
    await hub().hub.ledger.open(earnings, 'USDC', {})
    expectRefused(await adjust(gus, earnings, 1), 403, 'own_account')
    const proposed = expectProposed(await adjust(fay, earnings, 1))
    expectRefused(await confirm(gus, proposed), 403, 'own_account')
    expect((await confirm(ann, proposed)).body['state']).to.equal('booked')
  })

  it('A173: by a small entry in favor of an agent or a provider', async () => {
    const ada = await hub().agent()
    const id = expectProposed(await adjust(fay, creditsOf(ada), 1))
    await hub().hub.ledger.open('liabilities:providers:example:echo', 'USDC', {})
    expectProposed(await adjust(fay, 'liabilities:providers:example:echo', 1))
    expect(await hub().balance(ada.keyId)).to.equal(0n)
    expect((await confirm(gus, id)).body['state']).to.equal('booked')
    expect(await hub().balance(ada.keyId)).to.equal(1n)
  })

  it('A174: by refunding a call of their own', async () => {
    const ada = await hub().agent()
    await hub().credit(ada.keyId, usd('1'))
    const call = await paidCall(ada)
    const granted = await grant(ann, ada.address, 'finance')
    expect(granted.status, granted.text).to.equal(201)
    const own = await ask(hub().url, `/v1/finance/calls/${call}/refund`, {
      key: ada.apiKey,
      body: { reason },
    })
    expectRefused(own, 403, 'own_account')
    expect((await post(fay, `calls/${call}/refund`, {})).status).to.equal(200)
  })

  it('A175: by granting a role to a second identity, also through a third', async () => {
    const id = expectProposed(await adjust(ann, CREDIT, BIG))
    const puppet = await createVisitor(hub(), 'puppet@house.example')
    expect((await grant(ann, puppet.email, 'finance')).status).to.equal(201)
    expectRefused(await confirm(puppet, id), 403, 'second_person_required')
    const next = expectProposed(await adjust(ann, CREDIT, BIG))
    expectRefused(await confirm(puppet, next), 403, 'second_person_required')
    const head = await createVisitor(hub(), 'head@house.example')
    await grant(ann, head.email, 'admin')
    const hand = await createVisitor(hub(), 'hand@house.example')
    await grant(head, hand.email, 'finance')
    const third = expectProposed(await adjust(ann, CREDIT, BIG))
    for (const who of [head, hand]) {
      expectRefused(await confirm(who, third), 403, 'second_person_required')
    }
    expect((await confirm(hand, expectProposed(await adjust(fay, CREDIT, BIG)))).status).to.equal(
      200,
    )
    expect((await confirm(gus, third)).body['state'], 'by somebody else').to.equal('booked')
  })

  it('A176: by assigning a provider to themselves, or alone to whom it owes money', async () => {
    const wallet = privateKeyToAccount(generatePrivateKey())
    await register(wallet)
    await signFor(ann, wallet, '/v1/account/wallets')
    const assign = (name: string) =>
      ann.ask('/v1/admin/providers/example/owner', { body: { name, reason } })
    expectRefused(await assign(wallet.address), 403, 'own_account')
    const account = 'liabilities:providers:example:echo'
    const owed = expectProposed(await adjust(fay, account, BIG))
    expect((await confirm(gus, owed)).status).to.equal(200)
    const bob = await hub().agent()
    const proposed = await assign(bob.address)
    expect([proposed.status, proposed.body['state']]).to.deep.equal([202, 'proposed'])
    const [open] = dataOf(await gus.ask('/v1/finance/proposals?state=open&kind=provider'))
    expectRefused(await confirm(gus, open!['id']), 403, 'admin_only')
    const response = await ask(hub().url, `/v1/finance/proposals/${String(open!['id'])}/confirm`, {
      key: await admin.key(hub()),
      body: { reason },
    })
    expect(response.body['state'], response.text).to.equal('booked')
    const services = dataOf(await ann.ask('/v1/admin/services?slug=echo'))
    expect(services[0]).to.include({ owner: bob.address.toLowerCase() })
  })

  it('A177: by going around the hub with its database role', async () => {
    const { pool } = hub().hub
    const id = expectProposed(await adjust(fay, CREDIT, BIG))
    const { rows } = await pool.query<{ proposer: string; name: string }>(
      'SELECT proposer, proposed_by AS name FROM hub.staff_act WHERE id = $1',
      [id],
    )
    const { proposer, name } = rows[0]!
    for (const [sql, values] of [
      [`UPDATE hub.staff_act SET state = 'booked'`, []],
      [`DELETE FROM hub.identity_link`, []],
      [`INSERT INTO hub.role (principal, role, granted_by) VALUES ($1, 'admin', 'x')`, [proposer]],
      [
        `SELECT hub.open_act(gen_random_uuid(), 'adjustment', 'x', '{"asset":"USDC"}', '{}', '{}',
           101000000, 100000000, 'x', $1, $2, 'booked')`,
        [name, proposer],
      ],
    ] as const) {
      const error = await pool.query(sql, [...values]).catch((each: Error) => each)
      expect(error, sql).to.be.instanceOf(Error)
    }
    const decided = await pool.query<{ fault: string }>(
      `SELECT hub.decide_act($1, 'booked', 'x', $2, $3, '{}', '{}') AS fault`,
      [id, name, proposer],
    )
    expect(decided.rows[0]!.fault).to.equal('same_person')
  })

  it('A178: by proposing with an identity to which only they granted a role', async () => {
    const [puppet, other] = await Promise.all(
      ['left@house.example', 'right@house.example'].map(async (email) => {
        const person = await createVisitor(hub(), email)
        expect((await grant(ann, email, 'finance')).status).to.equal(201)
        return person
      }),
    )
    const id = expectProposed(await adjust(puppet!, CREDIT, BIG))
    for (const who of [ann, other!]) {
      const refused = await confirm(who, id)
      expectRefused(refused, 403, 'second_person_required')
      expect(refused.text).to.include('granted by the same person')
    }
    expect((await confirm(gus, id)).body['state'], 'by somebody else').to.equal('booked')
    const faultWith = async (admins: readonly string[]) => {
      const { rows } = await hub().hub.pool.query<{ fault: string | null }>(
        `SELECT hub.second_person_fault(a.id, h.principal, '{}', clock_timestamp(),
             '{finance,admin}', $3) AS fault
           FROM hub.principal a, hub.person h WHERE a.wallet_address = $1 AND h.email = $2`,
        [admin.wallet, fay.email, admins],
      )
      return rows[0]!.fault
    }
    expect(await faultWith([admin.wallet]), 'the only administrator').to.equal(null)
    const unknown = `0x${'5'.repeat(40)}`
    expect(await faultWith([admin.wallet, unknown])).to.equal('roles_from_one_person')
  })

  it('A179: by booking the deposit of a stranger as credits of an agent', async () => {
    const ada = await hub().agent()
    const path = `exceptions/${await createException(hub())}/resolve`
    const order = { decision: 'identified', key_id: ada.keyId }
    const id = expectProposed(await post(fay, path, order))
    expect(await hub().balance(ada.keyId)).to.equal(0n)
    expect((await confirm(gus, id)).body['state']).to.equal('booked')
    expect(await hub().balance(ada.keyId)).to.equal(700n)
  })
})
