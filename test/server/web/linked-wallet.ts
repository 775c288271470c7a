import { expect } from 'chai'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { HubClient } from '../../../core/client/index.ts'
import { usd } from '../../../core/money.ts'
import type { TestHub } from '../../support/hub.ts'
import type { Person } from '../../support/person.ts'

/** Asks for a message about a wallet at a path of REST, and sends there what the wallet signs. */
export async function signFor(
  person: Person,
  wallet: PrivateKeyAccount,
  path: string,
  method = 'POST',
): Promise<void> {
  const order = { body: { wallet_address: wallet.address } }
  const { body } = await person.ask(`${path}/challenge`, order)
  const { nonce, message } = body
  const signature = await wallet.signMessage({ message: String(message) })
  const told = await person.ask(path, { method, body: { nonce, signature } })
  expect(told.status, told.text).to.be.within(200, 201)
}

/** Gives somebody a wallet that has two keys, of which the first has five dollars. */
export async function linkTwoKeys(hub: TestHub, person: Person) {
  const account = privateKeyToAccount(generatePrivateKey())
  const client = new HubClient({ baseUrl: hub.url, wallet: { account, sandbox: true } })
  const { keyId: first, apiKey } = await client.register()
  const { keyId: second } = await client.register()
  await signFor(person, account, '/v1/account/wallets')
  await hub.credit(first, usd('5'))
  return { account, first, second, apiKey }
}
