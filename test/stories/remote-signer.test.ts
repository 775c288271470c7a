import { expect } from 'chai'
import { usd } from '../../core/money.ts'
import type { Hex } from '../../core/payments/chain/asset.ts'
import { remoteAccount } from '../../core/payments/wallets/remote-account.ts'
import { web3Signer } from '../../core/payments/wallets/web3signer.ts'
import { type SignerServer, serveWeb3Signer } from '../core/payments/wallets/signer-servers.ts'
import { buyExternal, openSecondHub } from '../server/rest/finance/fixture.ts'
import { useHub } from '../support/suite.ts'

describe('purchases of a hub whose spend wallet has a remote signer', () => {
  const hub = useHub()
  let signer: SignerServer
  let other: Awaited<ReturnType<typeof openSecondHub>>
  before(async () => {
    const { wallets, hosts } = hub().sandbox!
    signer = await serveWeb3Signer(wallets.spend.key)
    const address: Hex = wallets.spend.account.address
    const spend = remoteAccount(address, web3Signer({ url: signer.url, timeoutMs: 300 }))
    other = await openSecondHub(hub(), { sandboxHosts: hosts, spend })
  })
  after(() => signer.close())

  it('A185 cost nothing while the signer fails, and are paid once after that', async () => {
    const agent = await hub().agent()
    await hub().credit(agent.keyId, usd('1'))
    const buy = () =>
      buyExternal(other, agent.apiKey, `${hub().sandbox!.sellerUrl}/weather?city=Oslo`)
    for (const fault of ['slow', 'refuses', 'garbage', 'hangs up', 'other payment'] as const) {
      signer.fault = fault
      const { status, body } = await buy()
      expect([status, body['code']], fault).to.deep.equal([503, 'signer_unavailable'])
      expect(await hub().balance(agent.keyId), fault).to.equal(usd('1'))
    }
    const { rows } = await hub().hub.pool.query('SELECT count(*) AS n FROM hub.payment_intent')
    expect(rows[0].n, 'nothing was signed').to.equal(0n)
    signer.fault = 'none'
    expect((await buy()).status).to.equal(200)
    expect((await hub().balance(agent.keyId)) < usd('1')).to.equal(true)
    const { rows: paid } = await hub().hub.pool.query('SELECT state FROM hub.payment_intent')
    expect(paid).to.deep.equal([{ state: 'paid' }])
    await other.close()
  })
})
