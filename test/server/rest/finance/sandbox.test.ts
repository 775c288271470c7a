import { expect } from 'chai'
import { HubClient } from '../../../../core/client/index.ts'
import { ask } from '../../../support/ask.ts'
import { useHub } from '../../../support/suite.ts'

describe('a sandbox without configured administrators', () => {
  const hub = useHub()

  it('makes only the first agent an administrator', async () => {
    const { account } = hub().sandbox!.wallets.agent
    const wallet = { account, sandbox: true }
    const { apiKey } = await new HubClient({ baseUrl: hub().url, wallet }).register()
    const at = (key: string) => ask(hub().url, '/v1/finance/outgoing', { key })
    expect(await at(apiKey)).to.have.property('status', 200)
    const { body } = await at((await hub().agent()).apiKey)
    expect(body).to.include({ status: 403, code: 'finance_only' })
    expect(body['detail']).to.include('the role admin or finance or auditor.')
  })
})
