import { expect } from 'chai'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { createAdmin } from '../server/rest/finance/fixture.ts'
import { createStaff, createVisitor } from '../server/staff/fixture.ts'
import type { Person } from '../support/person.ts'
import { useMailHub } from '../support/suite.ts'
import { refused } from '../support/webhook-fixture.ts'

const ADDRESS = '/v1/provider/payout-address'
const newWallet = () => privateKeyToAccount(generatePrivateKey())

describe('a payout address whose wallet is lost', () => {
  const admin = createAdmin()
  const { hub, mailbox } = useMailHub({ config: { admins: [admin.wallet] } })
  const [lost, next] = [newWallet(), newWallet()]
  let owner: Person
  let ann: Person
  let provider: string
  const put = async (wallet: PrivateKeyAccount, by = owner) => {
    const body = { wallet_address: wallet.address }
    const { body: challenge } = await by.ask(`${ADDRESS}/challenge`, { body })
    const signature = await wallet.signMessage({ message: String(challenge['message']) })
    return by.ask(ADDRESS, { method: 'PUT', body: { nonce: challenge['nonce'], signature } })
  }
  before(async () => {
    owner = await createVisitor(hub(), 'olga@example.test')
    ann = await createStaff(hub(), admin, 'ann@house.example', 'admin')
    const set = await put(lost)
    expect(set.body).to.include({ address: lost.address, next_address: null })
    provider = String(set.body['provider_id'])
    await mailbox().next(owner.email)
  })
  const recover = (by: Person, wallet: PrivateKeyAccount) =>
    by.ask(`/v1/admin/providers/${provider}/payout-address`, {
      body: { address: wallet.address, reason: 'They showed their passport.' },
    })

  it('is recovered by an administrator as requested, after a longer wait (A203)', async () => {
    refused(await recover(ann, next), 404, 'not_found')
    expect((await put(next)).body).to.include({ requested_address: next.address })
    const firstMail = await mailbox().next(owner.email, 1)
    expect(firstMail.text).to.include(`A change to ${next.address} was requested.`)
    refused(await recover(ann, newWallet()), 404, 'not_found')
    refused(await recover(owner, next), 403, 'admin_only')
    const { body } = await recover(ann, next)
    expect(body).to.include({ address: lost.address, next_address: next.address })
    const wait = Date.parse(String(body['next_at'])) - Date.now()
    expect(Math.round(wait / 3_600_000)).to.equal(168)
    const secondMail = await mailbox().next(owner.email, 2)
    expect(secondMail.text).to.include(`It changes to ${next.address}`)
    const { rows } = await hub().database.admin.query(
      'SELECT act, subject FROM hub.audit ORDER BY seq DESC LIMIT 1',
    )
    expect(rows).to.deep.equal([{ act: 'payout.recover', subject: provider }])
  })

  it('is not recovered by an administrator for a provider of their own', async () => {
    const own = await createStaff(hub(), admin, owner.email, 'admin')
    expect((await put(newWallet())).status).to.equal(200)
    const { body } = await owner.ask(ADDRESS)
    const wallet = { address: String(body['requested_address']) } as PrivateKeyAccount
    refused(await recover(own, wallet), 403, 'own_account')
  })

  it('is changed by the current wallet otherwise, after a wait without payouts', async () => {
    const seller = await createVisitor(hub(), 'sam@example.test')
    const [present, wanted] = [newWallet(), newWallet()]
    for (const wallet of [present, wanted]) await put(wallet, seller)
    const authorize = async (by: PrivateKeyAccount) => {
      const response = await seller.ask(`${ADDRESS}/authorization/challenge`, { body: {} })
      const message = String(response.body['message'])
      expect(message).to.include(wanted.address).and.to.include(present.address)
      const signature = await by.signMessage({ message })
      const body = { nonce: response.body['nonce'], signature }
      return seller.ask(`${ADDRESS}/authorization`, { body })
    }
    refused(await authorize(wanted), 401, 'invalid_signature')
    const { body } = await authorize(present)
    const pending = { address: present.address, next_address: wanted.address }
    expect(body).to.include({ ...pending, requested_address: null })
    const wait = Date.parse(String(body['next_at'])) - Date.now()
    expect(Math.round(wait / 3_600_000)).to.equal(24)
    const balance = await seller.ask('/v1/provider/balance')
    expect((balance.body['data'] as { waits_for: string }[])[0]).to.include({
      waits_for: 'address_change',
    })
    const canceled = await seller.ask(ADDRESS, { method: 'DELETE' })
    expect(canceled.body).to.include({ address: present.address, next_address: null })
    const again = await seller.ask(`${ADDRESS}/authorization/challenge`, { body: {} })
    refused(again, 404, 'not_found')
  })

  it('is changed by the database only with an authorization', async () => {
    const attempt = (columns: string, values: string) =>
      hub()
        .hub.pool.query(
          `INSERT INTO hub.payout_address
             (provider, address, set_by, nonce, effective_at${columns})
           SELECT id, '0x' || repeat('6', 40), owner, 'forged', now()${values}
           FROM hub.provider WHERE id = $1`,
          [provider],
        )
        .then(
          () => 'done',
          (error: Error) => error.message,
        )
    expect(await attempt('', '')).to.include('was not requested')
    await hub().hub.pool.query(
      `UPDATE hub.payout_address_request SET closed_at = now() WHERE closed_at IS NULL`,
    )
    await hub().hub.pool.query(
      `INSERT INTO hub.payout_address_request (provider, address, requested_by, nonce)
       SELECT id, '0x' || repeat('6', 40), owner, 'forged' FROM hub.provider WHERE id = $1`,
      [provider],
    )
    const request = '(SELECT max(id) FROM hub.payout_address_request)'
    expect(await attempt(', request', `, ${request}`)).to.include('is not authorized')
    const nonce = `, (SELECT max(nonce) FROM hub.challenge WHERE purpose = 'payout')`
    expect(await attempt(', request, change_nonce', `, ${request}${nonce}`)).to.include(
      'is not authorized',
    )
    expect(await attempt(', request, recoverer', `, ${request}, owner`)).to.include(
      'is not authorized',
    )
  })
})
